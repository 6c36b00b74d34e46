//! A request as an event of API Gateway, and the response of a function.

use std::fmt::Display;

use lambda_http::http::HeaderMap;
use lambda_http::{Body, Context, Request, Response};
use model::timestamp::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};
use service::budget::RequestBudget;
use service::context::RequestContext;
use service::runtime::http_api_event::HttpApiEvent;
use service::telemetry::log::Log;
use store::retry::MAX_REQUEST_DURATION;

/// A request that is being built.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    event: Value,
    received_at: Option<Timestamp>,
    time_left: std::time::Duration,
    invocation: Option<String>,
}

impl RequestBuilder {
    /// `POST /api/customers` with this body.
    pub fn customer(body: impl Display) -> Self {
        Self::new("POST", "/api/customers").body(&body.to_string())
    }

    /// `POST /api/event-flows/signal` with this body.
    pub fn signals(body: impl Display) -> Self {
        Self::new("POST", "/api/event-flows/signal").body(&body.to_string())
    }

    /// `GET /api/sdk/ping`.
    pub fn ping() -> Self {
        Self::new("GET", "/api/sdk/ping").without_header("content-type")
    }

    /// Any method and path, as JSON, with no key.
    pub fn new(method: &str, path: &str) -> Self {
        let event = json!({
            "version": "2.0",
            "routeKey": format!("ANY {path}"),
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"content-type": "application/json", "host": "id.execute-api.eu-central-1.amazonaws.com"},
            "requestContext": {
                "accountId": "123456789012",
                "apiId": "id",
                "domainName": "id.execute-api.eu-central-1.amazonaws.com",
                "http": {
                    "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "test"
                },
                "requestId": "JKJaXmPLvHcESHA=",
                "routeKey": format!("ANY {path}"),
                "stage": "$default",
                "timeEpoch": 1_795_214_024_123_u64
            },
            "isBase64Encoded": false
        });
        Self {
            event,
            received_at: None,
            time_left: MAX_REQUEST_DURATION,
            invocation: None,
        }
    }

    /// An event out of a file.
    pub fn from_event(json: &str) -> Self {
        Self {
            event: serde_json::from_str(json).unwrap(),
            ..Self::new("", "")
        }
    }

    /// With `PATCH` instead of `POST`, and so on.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.event["requestContext"]["http"]["method"] = method.into();
        self
    }

    /// With this key.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// With this header instead of any other of that name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.event["headers"][name] = value.into();
        self
    }

    /// Without this header.
    #[must_use]
    pub fn without_header(mut self, name: &str) -> Self {
        self.event["headers"].as_object_mut().unwrap().remove(name);
        self
    }

    /// With this body, as text.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        self.event["body"] = body.into();
        self.event["isBase64Encoded"] = false.into();
        self
    }

    /// With this body, in base64, as API Gateway hands over what is not text.
    #[must_use]
    pub fn bytes(mut self, body: &[u8]) -> Self {
        self.event["body"] = data_encoding::BASE64.encode(body).into();
        self.event["isBase64Encoded"] = true.into();
        self
    }

    /// Received at this time.
    #[must_use]
    pub fn received_at(mut self, moment: Timestamp) -> Self {
        self.received_at = Some(moment);
        self
    }

    /// With this much time for DynamoDB.
    #[must_use]
    pub fn time_left(mut self, time_left: std::time::Duration) -> Self {
        self.time_left = time_left;
        self
    }

    /// As the invocation with this id.
    #[must_use]
    pub fn invocation(mut self, id: &str) -> Self {
        self.invocation = Some(id.to_owned());
        self
    }

    /// Which function the path belongs to.
    pub fn is_for_signals(&self) -> bool {
        self.event["rawPath"] == "/api/event-flows/signal"
    }

    /// The event, as JSON text.
    pub fn event(&self) -> String {
        self.event.to_string()
    }

    pub(crate) fn into_parts(self, log: Log, now: Timestamp) -> (Request, RequestContext) {
        let event = self.event();
        let id = self
            .invocation
            .unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let request = read_event(event.as_bytes(), id);
        let received_at = self.received_at.unwrap_or(now);
        let mut context = RequestContext::from_request(&request, received_at, log);
        context.budget = RequestBudget::of(self.time_left);
        (request, context)
    }
}

/// The request that a function's runtime makes of an event, whatever its bytes are.
pub fn read_event(event: &[u8], invocation: String) -> Request {
    let mut context = Context::default();
    context.request_id = invocation;
    // As lambda_runtime does: it is no error when something follows the value.
    let mut deserializer = serde_json::Deserializer::from_slice(event);
    HttpApiEvent::deserialize(&mut deserializer)
        .expect("it never fails")
        .into_request(context)
}

/// The response of a function.
#[derive(Debug)]
pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, as it was written.
    pub text: String,
}

impl TestResponse {
    pub(crate) fn new(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.as_ref().to_vec()).expect("a body of text");
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text,
        }
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("a body of JSON")
    }

    /// A header's value, or the empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The pointers and codes in `fieldErrors`.
    pub fn field_errors(&self) -> Vec<(String, String)> {
        let text = |error: &Value, name: &str| error[name].as_str().expect("a text").to_owned();
        let body = self.json();
        let errors = body["fieldErrors"]
            .as_array()
            .expect("fieldErrors is an array");
        errors
            .iter()
            .map(|error| (text(error, "pointer"), text(error, "code")))
            .collect()
    }

    /// Fails unless it is a problem of this status and code, in the one shape that problems have.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) {
        let body = self.json();
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(body["code"], code, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(body["type"], format!("urn:intake:problem:{code}"));
        assert_eq!(body["status"], status);
        assert_eq!(body["detail"], body["message"]);
        assert!(
            body["title"].is_string() && body["fieldErrors"].is_array(),
            "{}",
            self.text
        );
        assert_eq!(body["requestId"], self.header("x-request-id"));
    }
}
