//! Answers in DynamoDB's place. Must not know which calls get them.

use serde_json::json;

use crate::message::Message;
use crate::plan::Fault;

/// What DynamoDB answers to a call that it does not do.
pub(crate) fn refusal(fault: Fault) -> Message {
    const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
    const CORAL: &str = "com.amazon.coral.service";
    const VALIDATION: &str = "com.amazon.coral.validate";
    let (status, namespace, name) = match fault {
        Fault::Throttled => (
            "400 Bad Request",
            DYNAMODB,
            "ProvisionedThroughputExceededException",
        ),
        Fault::TableThrottled => ("400 Bad Request", DYNAMODB, "ThrottlingException"),
        Fault::AccessDenied => ("400 Bad Request", CORAL, "AccessDeniedException"),
        Fault::ExpiredToken => ("400 Bad Request", CORAL, "ExpiredTokenException"),
        Fault::UnrecognizedClient => ("400 Bad Request", CORAL, "UnrecognizedClientException"),
        Fault::Invalid => ("400 Bad Request", VALIDATION, "ValidationException"),
        Fault::InternalServerError => {
            ("500 Internal Server Error", DYNAMODB, "InternalServerError")
        }
        _ => return Message::answer("503 Service Unavailable", &[], ""),
    };
    json_answer(
        status,
        json!({"__type": format!("{namespace}#{name}"), "message": "on purpose"}).to_string(),
    )
}

pub(crate) fn json_answer(status: &str, body: impl Into<Vec<u8>>) -> Message {
    Message::answer(
        status,
        &[("content-type", "application/x-amz-json-1.0")],
        body,
    )
}
