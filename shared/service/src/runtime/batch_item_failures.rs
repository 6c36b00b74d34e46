//! The response to an event with several messages of a queue or records of a stream: which of them
//! Lambda is to deliver again ("Implementing partial batch responses" in the Lambda developer
//! guide). "Batch" is Lambda's word here, and no batch of signals. This module must not know what is
//! in a message or a record.

use serde::Serialize;

/// The messages or records that are to be delivered again.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialBatchResponse {
    /// Empty when all are done. Of a queue, one entry for each message that stays in it. Of a
    /// stream, at most one: Lambda delivers that record and those after it again.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// A message or a record that is to be delivered again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// The `messageId` of a message, or the sequence number of a record. An empty one makes Lambda
    /// deliver the whole event again.
    pub item_identifier: String,
}
