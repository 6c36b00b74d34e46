//! What Lambda makes of messages for a function, and of the function's response. This module must
//! not know what is in a message.

use serde_json::{Value, json};

use super::queues::QueueMessage;

/// The event that Lambda makes of these messages.
pub fn event(messages: &[QueueMessage]) -> Value {
    let mut records = Vec::new();
    for QueueMessage { id, body, .. } in messages {
        records.push(json!({"messageId": id, "body": body, "eventSource": "aws:sqs"}));
    }
    json!({"Records": records})
}

/// The ids of the messages that a function has drained, read from its response to their event.
/// There are none when the function failed.
pub(super) fn drained_ids<'a>(messages: &'a [QueueMessage], response: &Value) -> Vec<&'a str> {
    let Some(failures) = response.get("batchItemFailures").and_then(Value::as_array) else {
        return Vec::new();
    };
    let failed_ids: Vec<&str> = failures
        .iter()
        .filter_map(|failure| failure.get("itemIdentifier")?.as_str())
        .collect();
    messages
        .iter()
        .map(|message| message.id.as_str())
        .filter(|id| !failed_ids.contains(id))
        .collect()
}
