//! An AWS that responds like that of a healthy stack, with one response changed. It reads each call in the
//! protocol of its service, and records it; [`responses`] has the responses of a healthy stack.

mod responses;

use std::sync::Mutex;

use harness::http_server::{HttpServer, Service, response};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::Value;
use store::key_snapshot::OBJECT_KEY;

use self::responses::{
    assumed_role, describe_delivery, describe_stack, key_snapshot, query_error, response_to,
    response_to_path,
};
use super::cbor::{from_cbor, to_cbor};
use super::operator::{CommandOutput, Operator};

pub(crate) use self::responses::{ACCOUNT_SETTINGS, KEY_SNAPSHOT_BUCKET, TOPIC, key_item};

/// Another value in the response to a call.
pub(crate) struct Change {
    /// The operation that is called.
    pub(crate) operation: &'static str,
    /// A text in the body of the call.
    pub(crate) about: &'static str,
    /// Where the value is in the response, as a JSON Pointer.
    pub(crate) place: &'static str,
    pub(crate) value: Value,
}

/// The time of AWS when it refuses a call: months before that of the operator.
const REFUSED_AT: &str = "Thu, 01 Jan 2026 01:00:00 GMT";

/// A call that a command made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) operation: String,
    /// The id of the access key that signed the call; empty without a signature.
    pub(crate) access_key: String,
}

/// The state of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateOfStack {
    pub(crate) status: &'static str,
    /// A stack whose creation failed has none.
    pub(crate) has_outputs: bool,
}

/// The services that a command calls.
#[derive(Default)]
pub(crate) struct FakeAws {
    pub(crate) change: Option<Change>,
    /// Whether there is the stack of a delivery.
    has_delivery: bool,
    /// The state of the stack, where it is not that after a deployment.
    state: Option<StateOfStack>,
    calls: Mutex<Vec<Call>>,
}

impl FakeAws {
    pub(crate) fn new(change: Option<Change>) -> Self {
        Self {
            change,
            ..Self::default()
        }
    }

    /// The same AWS, with the stack of a delivery.
    pub(crate) fn with_delivery(self) -> Self {
        Self {
            has_delivery: true,
            ..self
        }
    }

    /// The same AWS, with the stack in this state.
    pub(crate) fn with_state(self, state: StateOfStack) -> Self {
        Self {
            state: Some(state),
            ..self
        }
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// How often an operation was called.
    pub(crate) fn count(&self, operation: &str) -> usize {
        let calls = self.calls();
        calls
            .iter()
            .filter(|call| call.operation == operation)
            .count()
    }
}

/// Runs a command over an AWS with this change.
pub(crate) async fn run_at_aws(change: Option<Change>, arguments: &[&str]) -> CommandOutput {
    run_at(FakeAws::new(change), arguments).await
}

/// Runs a command over this AWS.
pub(crate) async fn run_at(aws: FakeAws, arguments: &[&str]) -> CommandOutput {
    let aws = HttpServer::start(aws, None).await.unwrap();
    operator_at(&aws.endpoint()).run(arguments)
}

/// An operator of the stack of the AWS at this endpoint.
pub(crate) fn operator_at(endpoint: &str) -> Operator {
    Operator::with_nothing()
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "local")
        .variable("AWS_SECRET_ACCESS_KEY", "local")
        .variable("INTAKE_STACK", "intake-test")
        .variable("API_KEYS_TABLE", "elsewhere")
        .variable("AWS_ENDPOINT_URL", endpoint)
}

/// The protocol of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Json,
    Cbor,
    /// A form, with a response in XML.
    Query,
    /// A path of an HTTP API.
    Rest,
}

impl Service for FakeAws {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let header = |name: &str| {
            let value = request.headers().get(name);
            value.map_or("", |value| value.to_str().unwrap())
        };
        let path = request.uri().path();
        let (protocol, operation) =
            if let Some((_, operation)) = header("x-amz-target").split_once('.') {
                (Protocol::Json, operation.to_owned())
            } else if let Some((_, operation)) = path.split_once("/operation/") {
                (Protocol::Cbor, operation.to_owned())
            } else if path == "/" {
                let body = String::from_utf8_lossy(request.body());
                let action = body
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("Action="));
                (Protocol::Query, action.unwrap().to_owned())
            } else {
                (Protocol::Rest, path.to_owned())
            };
        let authorization = header("authorization");
        let access_key = authorization
            .split_once("AWS4-HMAC-SHA256 Credential=")
            .and_then(|(_, rest)| rest.split_once('/'));
        let access_key = access_key.map_or("", |(access_key, _)| access_key);
        if matches!(protocol, Protocol::Json | Protocol::Cbor) {
            assert_ne!(access_key, "", "{request:?}");
        }
        self.calls.lock().unwrap().push(Call {
            operation: operation.clone(),
            access_key: access_key.to_owned(),
        });
        match protocol {
            Protocol::Rest if path.ends_with(OBJECT_KEY) => key_snapshot(),
            Protocol::Rest => self.path_response(path),
            Protocol::Query => self.query_response(&operation, request.body()),
            Protocol::Json => {
                let call = serde_json::from_slice(request.body()).unwrap();
                let body = self.changed_response(&operation, &call);
                response(status(&body), &[], body.to_string())
            }
            Protocol::Cbor => {
                let body = self.changed_response(&operation, &from_cbor(request.body()));
                let headers = [
                    ("smithy-protocol", "rpc-v2-cbor"),
                    ("content-type", "application/cbor"),
                ];
                response(status(&body), &headers, to_cbor(&body))
            }
        }
    }
}

/// The status of the response with this body.
fn status(body: &Value) -> u16 {
    if body["__type"].is_string() { 400 } else { 200 }
}

impl FakeAws {
    fn path_response(&self, path: &str) -> Response<Full<Bytes>> {
        let change = self.change.as_ref();
        match change.filter(|change| change.operation == path) {
            Some(change) => response(status(&change.value), &[], change.value.to_string()),
            None => response_to_path(path),
        }
    }

    fn query_response(&self, operation: &str, body: &Bytes) -> Response<Full<Bytes>> {
        let body = String::from_utf8_lossy(body);
        if let Some(change) = &self.change
            && change.operation == operation
        {
            let code = change.value["code"].as_str().unwrap();
            let message = change.value["message"].as_str().unwrap();
            let headers = [("date", REFUSED_AT)];
            return response(400, &headers, query_error(code, message));
        }
        match operation {
            "DescribeStacks" => {
                let is_delivery = body.contains("StackName=intake-test-delivery");
                let times = if is_delivery { 2 } else { 1 };
                assert!(self.count(operation) <= times, "a stack is described once");
                let (status, xml) = if is_delivery {
                    describe_delivery(self.has_delivery)
                } else {
                    describe_stack(&body, self.state)
                };
                response(status, &[], xml)
            }
            "AssumeRole" | "AssumeRoleWithWebIdentity" => {
                response(200, &[], assumed_role(operation))
            }
            _ => panic!("{operation} was not expected"),
        }
    }

    /// The response to a call, with the change if it is about the call.
    fn changed_response(&self, operation: &str, call: &Value) -> Value {
        let mut changed = response_to(operation, call);
        let body = call.to_string();
        let change = self.change.as_ref();
        if let Some(change) =
            change.filter(|change| change.operation == operation && body.contains(change.about))
        {
            *changed.pointer_mut(change.place).unwrap() = change.value.clone();
        }
        changed
    }
}
