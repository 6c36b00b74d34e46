//! The queues: messages wait, are received, become visible again, or are deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::dynamodb::Response;

/// The names of the queues.
pub const OVERFLOW: &str = "http://aws.test/1/overflow";
pub const DEAD_LETTERS: &str = "http://aws.test/1/dead-letters";

/// How long after it was sent a message is counted: as late as SQS may be (`GetQueueAttributes` in the SQS API
/// reference).
const COUNTED_AFTER: Duration = Duration::from_mins(1);

/// The most bytes of a message with its attributes.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// All messages of both queues.
#[derive(Debug, Default)]
pub struct Queues {
    overflow: BTreeMap<u64, Message>,
    /// Messages that the overflow queue got so far.
    pub sent: u64,
    pub dead_letters: Vec<DeadLetter>,
    /// The group of each message that was sent.
    pub groups: Vec<Option<String>>,
}

/// A message in the dead-letter queue.
#[derive(Debug)]
pub struct DeadLetter {
    pub body: String,
    pub reason: Option<String>,
}

#[derive(Debug)]
struct Message {
    body: String,
    /// When it was sent, since the beginning of the run.
    sent_at: Duration,
    /// When it can be received.
    visible_at: Duration,
}

/// A message that was received.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: u64,
    pub body: String,
}

impl Queues {
    /// Does a `SendMessage`.
    pub(super) fn send(&mut self, call: &Value, now: Duration) -> Response {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let body = text(&call["MessageBody"]).unwrap_or_default();
        let bytes = body.len() + attribute_bytes(&call["MessageAttributes"]);
        if bytes > MAX_MESSAGE_BYTES || !body.chars().all(is_allowed) {
            return Response {
                status: 400,
                body: json!({"__type": "com.amazonaws.sqs#InvalidMessageContents"}),
            };
        }
        let md5 = HEXLOWER.encode(&Md5::digest(&body));
        self.groups.push(text(&call["MessageGroupId"]));
        if call["QueueUrl"] == OVERFLOW {
            let message = Message {
                body,
                sent_at: now,
                visible_at: Duration::ZERO,
            };
            self.overflow.insert(self.sent, message);
            self.sent += 1;
        } else {
            let reason = text(&call["MessageAttributes"]["reason"]["StringValue"]);
            self.dead_letters.push(DeadLetter { body, reason });
        }
        Response {
            status: 200,
            body: json!({"MessageId": self.sent.to_string(), "MD5OfMessageBody": md5}),
        }
    }

    /// Messages that are not deleted.
    pub fn remaining(&self) -> usize {
        self.overflow.len()
    }

    /// How many messages SQS says that the overflow queue has.
    pub fn counted(&self, now: Duration) -> usize {
        let messages = self.overflow.values();
        let counted = messages.filter(|message| message.sent_at + COUNTED_AFTER <= now);
        counted.count()
    }

    /// Takes the bodies of all messages, in the order in which they were sent.
    pub fn take_messages(&mut self) -> Vec<String> {
        let messages = std::mem::take(&mut self.overflow);
        messages.into_values().map(|message| message.body).collect()
    }

    /// Receives up to `limit` messages that are visible at `now`, in any order. They are invisible for
    /// a while.
    pub fn receive(
        &mut self,
        limit: usize,
        now: Duration,
        invisible: Duration,
        random: &mut fastrand::Rng,
    ) -> Vec<Received> {
        let visible = self
            .overflow
            .iter_mut()
            .filter(|(_, message)| message.visible_at <= now);
        let mut visible: Vec<_> = visible.collect();
        random.shuffle(&mut visible);
        let mut received = Vec::new();
        for (id, message) in visible.into_iter().take(limit) {
            message.visible_at = now + invisible;
            received.push(Received {
                id: *id,
                body: message.body.clone(),
            });
        }
        received
    }

    /// Makes a message visible at this time.
    pub fn show(&mut self, id: u64, at: Duration) {
        if let Some(message) = self.overflow.get_mut(&id) {
            message.visible_at = at;
        }
    }

    /// Deletes a message.
    pub fn delete(&mut self, id: u64) {
        self.overflow.remove(&id);
    }
}

/// What the attributes of a message add to its size: their names, types and values.
fn attribute_bytes(attributes: &Value) -> usize {
    let bytes = |value: &Value| value.as_str().map_or(0, str::len);
    let attributes = attributes.as_object().into_iter().flatten();
    attributes
        .map(|(name, value)| name.len() + bytes(&value["DataType"]) + bytes(&value["StringValue"]))
        .sum()
}

/// Whether a message may have this character (`SendMessage` in the SQS API reference).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
