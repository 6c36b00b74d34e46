//! What Lambda makes of messages for a function, and of the function's response. Must not know what
//! is in a message.

use serde_json::{Value, json};

use super::queues::Message;

/// The event that Lambda makes of messages.
pub fn event(messages: &[Message]) -> Value {
    let record = |message: &Message| json!({"messageId": message.id, "body": message.body, "eventSource": "aws:sqs"});
    json!({"Records": messages.iter().map(record).collect::<Value>()})
}

/// The ids of the messages that a function has drained, by its response to their event: none when
/// it failed.
pub fn drained<'a>(messages: &'a [Message], response: &Value) -> Vec<&'a str> {
    let Some(failures) = response.get("batchItemFailures").and_then(Value::as_array) else {
        return Vec::new();
    };
    let is_failure = |id: &&str| {
        failures
            .iter()
            .any(|failure| failure.get("itemIdentifier").is_some_and(|of| of == *id))
    };
    messages
        .iter()
        .map(|message| message.id.as_str())
        .filter(|id| !is_failure(id))
        .collect()
}
