//! What is counted in the queue and what Lambda receives of it, and what Lambda makes of messages for a function and of the
//! function's response. Must not know what is in a message.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{MAX_BYTES, Message, Queue, Queues};

/// A message that was received this often and not deleted becomes a dead letter. In template.yaml it is more often, over days.
pub(super) const MAX_RECEIVES: u32 = 24;

/// The bodies of the messages that are received together, in bytes. A body may double in an event, for which Lambda's limit is 6 MB.
const MAX_RECEIVED_BYTES: usize = 3 * MAX_BYTES;

impl Queues {
    pub(super) fn receive(&mut self, most: usize, hidden: Duration, now: Instant) -> Vec<Message> {
        let messages = &mut self.overflow.messages;
        let is_dead = |message: &mut Message| message.visible_at <= now && message.receives >= MAX_RECEIVES;
        if !self.are_receives_unlimited {
            let dead: Vec<_> = messages.extract_if(.., is_dead).collect();
            self.keep_dead(&dead);
            self.dead_letters.messages.extend(dead);
        }
        let messages = &mut self.overflow.messages;
        let (mut received, mut bytes) = (Vec::new(), 0);
        for message in messages.iter_mut().filter(|message| message.visible_at <= now).take(most) {
            bytes += message.body.len();
            if bytes > MAX_RECEIVED_BYTES {
                break;
            }
            message.visible_at = now + hidden;
            message.receives += 1;
            received.push(message.clone());
        }
        received
    }
}

impl Queue {
    /// Messages that wait, are in flight and are delayed.
    pub(super) fn counts(&mut self, now: Instant) -> [u64; 3] {
        let said = if self.counts.len() > 1 { self.counts.pop_front() } else { self.counts.front().copied() };
        said.unwrap_or_else(|| {
            let waiting = self.messages.iter().filter(|message| message.visible_at <= now).count();
            [waiting as u64, (self.messages.len() - waiting) as u64, 0]
        })
    }
}

/// The event that Lambda makes of messages.
pub fn event(messages: &[Message]) -> Value {
    let record = |message: &Message| json!({"messageId": message.id, "body": message.body, "eventSource": "aws:sqs"});
    json!({"Records": messages.iter().map(record).collect::<Value>()})
}

/// The ids of the messages that a function has drained, by its response to their event: none when it failed.
pub fn drained<'a>(messages: &'a [Message], response: &Value) -> Vec<&'a str> {
    let Some(failures) = response.get("batchItemFailures").and_then(Value::as_array) else { return Vec::new() };
    let is_failure =
        |id: &&str| failures.iter().any(|failure| failure.get("itemIdentifier").is_some_and(|of| of == *id));
    messages.iter().map(|message| message.id.as_str()).filter(|id| !is_failure(id)).collect()
}
