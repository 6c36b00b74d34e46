//! Answers in DynamoDB's place.

use serde_json::json;

use super::fault::Fault;
use super::message::HttpMessage;

const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
const CORAL: &str = "com.amazon.coral.service";
const VALIDATION: &str = "com.amazon.coral.validate";

/// An exception of DynamoDB.
struct Exception {
    status: &'static str,
    namespace: &'static str,
    name: &'static str,
    message: &'static str,
}

impl Exception {
    const fn bad_request(namespace: &'static str, name: &'static str) -> Self {
        Self {
            status: "400 Bad Request",
            namespace,
            name,
            message: "on purpose",
        }
    }

    fn answer(&self) -> HttpMessage {
        let kind = format!("{}#{}", self.namespace, self.name);
        let body = json!({"__type": kind, "message": self.message});
        json_answer(self.status, body.to_string())
    }
}

/// What DynamoDB answers to a call that it does not do.
pub(super) fn refusal(fault: Fault) -> HttpMessage {
    let exception = match fault {
        Fault::Throttled => {
            Exception::bad_request(DYNAMODB, "ProvisionedThroughputExceededException")
        }
        Fault::TableThrottled => Exception::bad_request(DYNAMODB, "ThrottlingException"),
        Fault::AccessDenied => Exception::bad_request(CORAL, "AccessDeniedException"),
        Fault::ExpiredToken => Exception::bad_request(CORAL, "ExpiredTokenException"),
        Fault::UnrecognizedClient => Exception::bad_request(CORAL, "UnrecognizedClientException"),
        Fault::Invalid => Exception::bad_request(VALIDATION, "ValidationException"),
        Fault::InternalServerError => Exception {
            status: "500 Internal Server Error",
            namespace: DYNAMODB,
            name: "InternalServerError",
            message: "on purpose",
        },
        Fault::SignatureExpired => Exception {
            message: "Signature expired: 20261120T221640Z is now earlier than 20261120T222140Z",
            ..Exception::bad_request(CORAL, "InvalidSignatureException")
        },
        Fault::Status(status) => {
            return HttpMessage::answer(&format!("{status} on purpose"), &[], "");
        }
        _ => return HttpMessage::answer("503 Service Unavailable", &[], ""),
    };
    exception.answer()
}

pub(super) fn json_answer(status: &str, body: impl Into<Vec<u8>>) -> HttpMessage {
    HttpMessage::answer(
        status,
        &[("content-type", "application/x-amz-json-1.0")],
        body,
    )
}
