//! Answers in DynamoDB's place.

use std::io;

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

/// Answers that all requests of a batch are unprocessed. The requests are not parsed, because that
/// takes long where they are large.
pub(super) fn all_unprocessed(call: HttpMessage) -> io::Result<HttpMessage> {
    let batch = String::from_utf8(call.body).map_err(|_| io::ErrorKind::InvalidData)?;
    let requests = batch
        .strip_prefix("{\"RequestItems\":")
        .ok_or(io::ErrorKind::InvalidData)?;
    let body = format!("{{\"UnprocessedItems\":{requests}");
    Ok(json_answer("200 OK", body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_batch_are_answered_as_unprocessed_as_they_were_written() {
        let call = HttpMessage {
            first_line: "POST / HTTP/1.1".to_owned(),
            headers: Vec::new(),
            body: br#"{"RequestItems":{"Signals":[2, 1]}}"#.to_vec(),
        };
        let answer = all_unprocessed(call).unwrap();
        assert_eq!(answer.body, br#"{"UnprocessedItems":{"Signals":[2, 1]}}"#);
    }
}
