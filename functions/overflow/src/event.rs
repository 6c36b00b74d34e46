//! Own types instead of `aws_lambda_events::sqs`: 25 crates fewer. The event of an SQS queue and the response to it ("Using
//! Lambda with Amazon SQS" in the Lambda developer guide).

use serde::{Deserialize, Serialize};

/// Messages of the queue.
#[derive(Debug, Deserialize)]
pub struct SqsEvent {
    /// The messages.
    #[serde(rename = "Records")]
    pub records: Vec<SqsMessage>,
}

/// A message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsMessage {
    /// Its id.
    pub message_id: String,
    /// Its text.
    pub body: String,
}

/// The messages that are to be delivered again; SQS deletes the others.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsBatchResponse {
    /// Their ids.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// A message that is to be delivered again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// Its id.
    pub item_identifier: String,
}
