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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sqs::{FakeSqs, OVERFLOW_QUEUE};

    /// Longer than a test takes.
    const HIDDEN: Duration = Duration::from_hours(1);

    async fn queue_with(bodies: &[&str]) -> FakeSqs {
        let queue = FakeSqs::start().await.unwrap();
        for body in bodies {
            let call = json!({"QueueUrl": OVERFLOW_QUEUE, "MessageBody": body});
            queue
                .use_queues(|queues| queues.answer("SendMessage", call))
                .unwrap();
        }
        queue
    }

    /// A function that drains all messages but those whose body is `bad`.
    async fn drain_all_but_bad(event: Value) -> Value {
        let records = event["Records"].as_array().unwrap();
        let failures: Vec<_> = records
            .iter()
            .filter(|record| record["body"] == "bad")
            .map(|record| json!({"itemIdentifier": record["messageId"]}))
            .collect();
        json!({"batchItemFailures": failures})
    }

    #[tokio::test]
    async fn messages_that_were_drained_are_deleted_and_the_others_stay_hidden() {
        let queue = queue_with(&["good", "bad", "good"]).await;
        assert!(queue.deliver(2, HIDDEN, drain_all_but_bad).await);
        assert_eq!(queue.remaining(), 2);
        assert!(queue.deliver(2, HIDDEN, drain_all_but_bad).await);
        assert_eq!(queue.remaining(), 1);
        assert!(!queue.deliver(2, HIDDEN, drain_all_but_bad).await);
    }

    #[tokio::test]
    async fn messages_without_a_response_are_not_deleted() {
        let queue = queue_with(&["good"]).await;
        let fails = async |_| Value::Null;
        assert!(queue.deliver(2, HIDDEN, fails).await);
        assert_eq!(queue.remaining(), 1);
    }
}
