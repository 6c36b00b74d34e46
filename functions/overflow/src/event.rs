//! Own types instead of `aws_lambda_events::sqs`: 25 crates fewer. The event of an SQS queue and
//! the response to it ("Using Lambda with Amazon SQS" in the Lambda developer guide).

use serde::{Deserialize, Serialize};

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
    /// SQS's id of the message, by which it can be kept in the queue.
    pub message_id: String,
    /// What the function that deferred it sent.
    pub body: String,
}

/// The messages that are to be delivered again; SQS deletes the others.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsBatchResponse {
    /// An entry for each message that stays in the queue.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// A message that is to be delivered again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// The `messageId` of the message.
    pub item_identifier: String,
}
