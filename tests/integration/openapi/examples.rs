//! Sends the request of an example of openapi.yaml to the functions. For a response that no single
//! request produces, it serializes the problem.

use aws::call_error::CallError;
use harness::{RequestBuilder, TestApp, TestResponse};
use model::api_key::Endpoint;
use model::identifier::RequestIdentifier;
use serde_json::{Value, json};
use service::problem::{Problem, ProblemType};
use service::problem_document;
use store::error::StoreError;

use super::document::{Document, DocumentedExample, Operation};
use crate::support::clock::{NOW, earlier};

/// The `requestId` of every example.
const REQUEST_ID: &str = "8f5d2c0e-1b7a-4e43-9d35-0c6b1a2f7e90";

/// The `requestIdentifier` of the 503 example after a part of the signals was stored.
const RETRY_IDENTIFIER: &str = "9e2f4a6b-1c3d-4e5f-8a7b-6c5d4e3f2a1b";

/// The response to the example's request. `None` if it has none.
pub(super) async fn response(
    document: &Document,
    operation: &Operation<'_>,
    example: &DocumentedExample<'_>,
) -> Option<TestResponse> {
    let same_name = || {
        let examples = &document.request_body(operation)?["examples"];
        document.resolve(examples.get(example.name)?).get("value")
    };
    let plain_body = same_name();
    if example.request.is_none() && plain_body.is_none() {
        return None;
    }
    let mut request = example.request.cloned().unwrap_or_else(|| json!({}));
    if let Some(body) = plain_body {
        request["body"] = body.to_string().into();
    }
    let app = TestApp::start();
    let only = only_endpoint(&request);
    let key = app.key_with("shop", |entry| entry.only = only).await;
    if let Some(before) = request["before"].as_str() {
        // `updatedAt` never goes back, so this request is sent a second before the example's.
        let before = RequestBuilder::new(&operation.method, operation.path)
            .key(&key)
            .body(before)
            .received_at(earlier(1));
        let earlier = app.send(before).await;
        assert_eq!(earlier.status, 200, "{}", earlier.text);
    }
    let call = call(operation, &request, &key);
    Some(app.send(call).await)
}

/// The endpoint that the key is for, whose path an example of a restricted key names.
fn only_endpoint(request: &Value) -> Option<Endpoint> {
    let path = request["keyOnlyFor"].as_str()?;
    Some(match path {
        "/api/customers" => Endpoint::Customers,
        _ => Endpoint::Signals,
    })
}

/// The request of an example, with this key unless the example has other headers.
fn call(operation: &Operation<'_>, request: &Value, key: &str) -> RequestBuilder {
    let method = request["method"].as_str().unwrap_or(&operation.method);
    let path = request["path"].as_str().unwrap_or(operation.path);
    let mut call = RequestBuilder::new(method, path)
        .key(key)
        .received_at(NOW)
        .invocation(REQUEST_ID);
    if let Some(body) = body_of(request) {
        call = call.body(&body);
    }
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let name = name.to_lowercase();
        call = match value.as_str() {
            Some(value) => call.header(&name, value),
            None => call.without_header(&name),
        };
    }
    call
}

/// The body of the request: as it is written, or one with so many bytes or signals.
fn body_of(request: &Value) -> Option<String> {
    let number = |name: &str| {
        let number = request[name].as_u64()?;
        Some(usize::try_from(number).unwrap())
    };
    if let Some(body) = request["body"].as_str() {
        return Some(body.to_owned());
    }
    if let Some(bytes) = number("bytes") {
        return Some("x".repeat(bytes));
    }
    let signals = number("signals")?;
    let signal = json!({"customerId": "c", "eventType": "login"});
    Some(json!({"signals": vec![signal; signals]}).to_string())
}

/// The problem of the example's name, for a response that has no request.
pub(super) fn problem(name: &str) -> Option<(ProblemType, Value)> {
    let unavailable = |retry_identifier| Problem::StorageUnavailable {
        reason: StoreError::Unavailable(CallError::Throttled).into(),
        retry_identifier,
    };
    let problem = match name {
        "customer-too-large" => customers::customers_problems::customer_too_large(),
        "internal-error" => Problem::InternalError(None),
        "storage-unavailable" => unavailable(None),
        "failed-part-way" => unavailable(RequestIdentifier::parse(RETRY_IDENTIFIER)),
        _ => return None,
    };
    let document = problem_document::document(&problem, REQUEST_ID);
    let body = serde_json::to_value(document).unwrap();
    Some((problem.problem_type(), body))
}
