//! The queues and what changes them, in memory or kept in a file, within SQS's limits. Must not
//! know what is in a message.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::journal::Journal;

/// The URL of the overflow queue.
pub const OVERFLOW_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/000000000000/overflow";

/// The URL of its dead-letter queue.
pub const DEAD_LETTER_QUEUE: &str =
    "https://sqs.eu-central-1.amazonaws.com/000000000000/dead-letters";

/// The largest message, and the largest sum of the messages of one call, in bytes ("Amazon SQS
/// message quotas").
const MAX_BYTES: usize = 1024 * 1024;

/// A message that was received this often and not deleted becomes a dead letter. In template.yaml
/// it is more often, over days.
const MAX_RECEIVES: u32 = 24;

/// The bodies of the messages that are received together, in bytes. A body may double in an event,
/// for which Lambda's limit is 6 MB.
const MAX_RECEIVED_BYTES: usize = 3 * MAX_BYTES;

/// A message that was received.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its text.
    pub body: String,
    /// Why it is a dead letter, if the overflow function said so.
    pub reason: Option<String>,
    receives: u32,
    pub(super) visible_at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) overflow: Queue,
    pub(super) dead_letters: Queue,
    pub(super) sent: u64,
    /// The `MessageGroupId` of each message that was sent.
    pub(super) groups: Vec<Option<String>>,
    pub(super) is_unavailable: bool,
    pub(super) are_receives_unlimited: bool,
    /// What `SendMessage` is answered instead of being done.
    pub(super) answer_of_sends: Option<Value>,
    pub(super) calls: Vec<(String, Value)>,
    journal: Option<Journal>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) messages: Vec<Message>,
    /// What a test says that it counts, one after another; the last one stays.
    pub(super) counts: VecDeque<[u64; 3]>,
}

/// The status, the code and the message of a response that is an error.
pub(super) type CallError = (u16, &'static str, &'static str);

const UNKNOWN_QUEUE: CallError = (
    400,
    "NonExistentQueue",
    "The specified queue does not exist.",
);

/// A change of the queues, as their file has it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    Sent {
        id: String,
        body: String,
        reason: Option<String>,
        is_dead: bool,
    },
    /// A message became a dead letter.
    Dead(String),
    Deleted(String),
    Cleared,
    /// All dead letters are back in the overflow queue.
    Redriven,
}

/// The ARN of the queue with this URL.
pub fn arn(url: &str) -> String {
    format!(
        "arn:aws:sqs:eu-central-1:000000000000:{}",
        url.rsplit('/').next().unwrap_or_default()
    )
}

impl Queues {
    /// The queues that a file has, which keeps them: it is written anew with only what is left in
    /// them.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let cannot_use = || format!("Cannot use the queue's file {}", path.display());
        let mut queues = Self::default();
        Journal::read(path)
            .with_context(cannot_use)?
            .into_iter()
            .for_each(|change| queues.apply(change));
        let of_overflow = queues
            .overflow
            .messages
            .iter()
            .map(|message| message.as_sent(false));
        let all = of_overflow.chain(
            queues
                .dead_letters
                .messages
                .iter()
                .map(|message| message.as_sent(true)),
        );
        queues.journal = Some(Journal::create(path, all).with_context(cannot_use)?);
        Ok(queues)
    }

    /// Makes a change, and keeps it if the queues are in a file. One that is lost is made again, as
    /// on AWS.
    fn change(&mut self, change: Change) {
        self.keep(&change);
        self.apply(change);
    }

    /// Whether a change is kept, or nothing keeps changes.
    fn keep(&mut self, change: &Change) -> bool {
        self.journal
            .as_mut()
            .is_none_or(|journal| journal.append(change).is_ok())
    }

    fn apply(&mut self, change: Change) {
        let (overflow, dead_letters) =
            (&mut self.overflow.messages, &mut self.dead_letters.messages);
        let now = Instant::now();
        match change {
            Change::Sent {
                id,
                body,
                reason,
                is_dead,
            } => {
                self.sent = self
                    .sent
                    .max(id.parse::<u64>().map_or(0, |number| number + 1));
                let queue = if is_dead { dead_letters } else { overflow };
                queue.push(Message {
                    id,
                    body,
                    reason,
                    receives: 0,
                    visible_at: now,
                });
            }
            Change::Dead(id) => {
                dead_letters.extend(overflow.extract_if(.., |message| message.id == id));
            }
            Change::Deleted(id) => overflow.retain(|message| message.id != id),
            Change::Cleared => [overflow, dead_letters].into_iter().for_each(Vec::clear),
            Change::Redriven => {
                let fresh = |message| Message {
                    receives: 0,
                    visible_at: now,
                    ..message
                };
                overflow.extend(dead_letters.drain(..).map(fresh));
            }
        }
    }

    /// The body of the response to a call.
    pub(super) fn answer(&mut self, operation: &str, call: Value) -> Result<Value, CallError> {
        if self.is_unavailable {
            return Err((500, "InternalError", ""));
        }
        let answer = match operation {
            "SendMessage" if self.answer_of_sends.is_some() => {
                Ok(self.answer_of_sends.clone().into())
            }
            "SendMessage" => self.send(&call),
            "GetQueueAttributes" => self.attributes(&call),
            "StartMessageMoveTask" => {
                self.change(Change::Redriven);
                Ok(json!({"TaskHandle": "handle"}))
            }
            _ => Err((400, "UnsupportedOperation", "")),
        };
        // The messages of the others are kept already.
        if operation != "SendMessage" {
            self.calls.push((operation.to_owned(), call));
        }
        answer
    }

    fn send(&mut self, call: &Value) -> Result<Value, CallError> {
        let body = call["MessageBody"].as_str().unwrap_or_default();
        if body.len() > MAX_BYTES || !body.chars().all(is_allowed) {
            return Err((400, "InvalidMessageContents", ""));
        }
        let group = call["MessageGroupId"].as_str().map(ToOwned::to_owned);
        let is_group = |group: &String| {
            matches!(group.len(), 1..=128) && group.chars().all(|c| c.is_ascii_graphic())
        };
        if !group.as_ref().is_none_or(is_group) {
            return Err((400, "InvalidParameterValue", ""));
        }
        let id = self.sent.to_string();
        let reason = call
            .pointer("/MessageAttributes/reason/StringValue")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned);
        let is_dead = match call["QueueUrl"].as_str().unwrap_or_default() {
            OVERFLOW_QUEUE => false,
            DEAD_LETTER_QUEUE => true,
            _ => return Err(UNKNOWN_QUEUE),
        };
        let change = Change::Sent {
            id: id.clone(),
            body: body.to_owned(),
            reason,
            is_dead,
        };
        if !self.keep(&change) {
            return Err((500, "InternalError", ""));
        }
        self.apply(change);
        self.groups.push(group);
        Ok(json!({"MessageId": id, "MD5OfMessageBody": HEXLOWER.encode(&Md5::digest(body))}))
    }

    pub(super) fn delete(&mut self, id: &str) {
        self.change(Change::Deleted(id.to_owned()));
    }

    pub(super) fn clear(&mut self) {
        self.change(Change::Cleared);
    }

    /// The attributes that a call names, as SQS writes them.
    fn attributes(&mut self, call: &Value) -> Result<Value, CallError> {
        if call["AttributeNames"] == json!(["QueueArn"]) {
            return Ok(
                json!({"Attributes": {"QueueArn": arn(call["QueueUrl"].as_str().unwrap_or_default())}}),
            );
        }
        let queue = match call["QueueUrl"].as_str().unwrap_or_default() {
            OVERFLOW_QUEUE => &mut self.overflow,
            DEAD_LETTER_QUEUE => &mut self.dead_letters,
            _ => return Err(UNKNOWN_QUEUE),
        };
        let [waiting, in_flight, delayed] = queue.counts(Instant::now());
        Ok(json!({"Attributes": {
            "ApproximateNumberOfMessages": waiting.to_string(),
            "ApproximateNumberOfMessagesNotVisible": in_flight.to_string(),
            "ApproximateNumberOfMessagesDelayed": delayed.to_string(),
        }}))
    }

    pub(super) fn receive(&mut self, most: usize, hidden: Duration, now: Instant) -> Vec<Message> {
        let messages = &self.overflow.messages;
        let is_dead =
            |message: &Message| message.visible_at <= now && message.receives >= MAX_RECEIVES;
        if !self.are_receives_unlimited {
            let dead: Vec<_> = messages
                .iter()
                .filter(|message| is_dead(message))
                .map(|message| message.id.clone())
                .collect();
            for id in dead {
                self.change(Change::Dead(id));
            }
        }
        let messages = &mut self.overflow.messages;
        let (mut received, mut bytes) = (Vec::new(), 0);
        for message in messages
            .iter_mut()
            .filter(|message| message.visible_at <= now)
            .take(most)
        {
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
    fn counts(&mut self, now: Instant) -> [u64; 3] {
        let said = if self.counts.len() > 1 {
            self.counts.pop_front()
        } else {
            self.counts.front().copied()
        };
        said.unwrap_or_else(|| {
            let waiting = self
                .messages
                .iter()
                .filter(|message| message.visible_at <= now)
                .count();
            [waiting as u64, (self.messages.len() - waiting) as u64, 0]
        })
    }
}

impl Message {
    /// The change that brings it back.
    fn as_sent(&self, is_dead: bool) -> Change {
        Change::Sent {
            id: self.id.clone(),
            body: self.body.clone(),
            reason: self.reason.clone(),
            is_dead,
        }
    }
}

/// The characters of a message (`SendMessage` in the SQS API reference).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests;
