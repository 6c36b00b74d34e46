//! Requests that check what a deployment can get wrong: the key table, API Gateway, what it passes
//! through to the functions, and the table of the customers. They do not check the rules of the
//! functions, which have tests of their own, and are the same in every deployment.

use model::api_key::KEY_PREFIX;
use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};

use super::api::ExpectedResponse;
use super::api::{ApiRequest, CUSTOMERS, PING, SIGNALS};
use super::report::CheckContext;
use super::sender::{SentBatch, subject_id};
use crate::check_result::CheckOutcome;

/// How many signals the compressed batch has.
const COMPRESSED_SIGNALS: usize = 25;

/// How many signals the largest body has: blanks fill it.
const SIGNALS_OF_LARGEST_BODY: usize = 1;

/// How many signals [`check_pass_through`] sends.
pub(super) const PASS_THROUGH_SIGNALS: usize = COMPRESSED_SIGNALS + SIGNALS_OF_LARGEST_BODY;

/// The customer whose profile is updated.
pub(super) const UPDATED_CUSTOMER: usize = 0;

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// Sends requests with a valid API key, with none and with a wrong one.
pub(super) async fn check_keys(context: &CheckContext<'_>) {
    let ping = || ApiRequest::new("GET", PING);
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let answered = ExpectedResponse::status(200).body("/response", json!("pong"));
    let missing = ExpectedResponse::problem(401, "unauthorized")
        .header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let promise = "API keys";
    context
        .check(promise, "Ping with a valid key", &ping(), &answered)
        .await;
    let without_key = ping().key(None);
    context
        .check(promise, "401: no key", &without_key, &missing)
        .await;
    let with_wrong_key = ping().key(Some(&wrong));
    context
        .check(promise, "401: wrong key", &with_wrong_key, &invalid)
        .await;
}

/// Sends updates of a customer.
pub(super) async fn update_customer(context: &CheckContext<'_>) {
    let updates = [
        (
            "POST",
            json!({"email": "a@example.com", "phoneNumber": "+49 1", "city": "Oslo"}),
        ),
        ("PATCH", json!({"phoneNumber": null, "city": "Paris"})),
        ("POST", json!({"firstName": "Zoë 😀"})),
    ];
    for (method, data) in updates {
        let body = json!({"customerId": subject_id(UPDATED_CUSTOMER), "customerData": data});
        let request = ApiRequest::post(CUSTOMERS, body.to_string()).method(method);
        let expected =
            ExpectedResponse::status(200).body("/customerId", json!(subject_id(UPDATED_CUSTOMER)));
        let name = format!("{method} of a customer");
        context.check("Customers", &name, &request, &expected).await;
    }
}

/// The fields of the customer after these updates.
pub(super) fn updated_fields() -> Value {
    json!({"email": "a@example.com", "city": "Paris", "firstName": "Zoë 😀"})
}

/// Sends what API Gateway has to pass through unchanged: a compressed body, the largest body, and a
/// preflight request, which has no key.
pub(super) async fn check_pass_through(context: &CheckContext<'_>) {
    let batch = SentBatch::new(COMPRESSED_SIGNALS, 0);
    let zipped = batch
        .request()
        .gzip()
        .header("user-agent", "curl/8.7.1")
        .header("accept", "*/*");
    let answered = context.sender.send_batch(batch, &zipped).await;
    context.checks.add("Endpoints", "gzip", answered.outcome());

    let batch = SentBatch::new(SIGNALS_OF_LARGEST_BODY, 0);
    let largest = batch.request().padded_to(MAX_BODY_BYTES);
    let answered = context.sender.send_batch(batch, &largest).await;
    context
        .checks
        .add("Limits", "A body of the largest size", answered.outcome());

    let preflight = ApiRequest::new("OPTIONS", SIGNALS).key(None);
    let expected = ExpectedResponse::status(204).header("allow", "POST");
    context
        .check("Endpoints", "OPTIONS without a key", &preflight, &expected)
        .await;
}

/// A request that API Gateway answers by itself, and the status of its answer.
struct GatewayCheck {
    name: &'static str,
    request: ApiRequest,
    status: u16,
}

/// Sends requests that API Gateway answers by itself. On other stacks, the checks are skipped.
pub(super) async fn check_gateway(context: &CheckContext<'_>, is_gateway: bool) {
    let no_route = ApiRequest::post("/api/no-such-path", "{}");
    let other_host = ApiRequest::new("GET", PING).header("host", "another.invalid");
    let too_large = ApiRequest::post(SIGNALS, "{}").padded_to(TOO_LARGE_FOR_GATEWAY);
    let checks = [
        GatewayCheck {
            name: "404: no route",
            request: no_route,
            status: 404,
        },
        GatewayCheck {
            name: "403: another host name",
            request: other_host,
            status: 403,
        },
        GatewayCheck {
            name: "413: a body of 11 MB",
            request: too_large,
            status: 413,
        },
    ];
    let promise = "Responses of API Gateway";
    for GatewayCheck {
        name,
        request,
        status,
    } in checks
    {
        if is_gateway {
            let expected = ExpectedResponse::gateway(status);
            context.check(promise, name, &request, &expected).await;
        } else {
            let skipped = CheckOutcome::skipped("only API Gateway shows it");
            context.checks.add(promise, name, skipped);
        }
    }
}
