//! The event of an SQS queue ("Using Lambda with Amazon SQS" in the Lambda developer guide).
//!
//! These are own types instead of `aws_lambda_events::sqs`, which would link 25 more crates.

use serde::Deserialize;

/// What Lambda delivers: up to `BatchSize` messages of the queue.
#[derive(Debug, Deserialize)]
pub struct SqsEvent {
    /// The messages, in no particular order.
    #[serde(rename = "Records")]
    pub records: Vec<SqsMessage>,
}

/// One message of the queue.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsMessage {
    /// SQS's id of the message. A function returns it to leave the message in the queue.
    pub message_id: String,
    /// The message as the signals or the customers function sent it.
    pub body: String,
}
