//! The queues: messages wait, are received, become visible again, or are deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::dynamodb::Answer;

/// The names of the queues.
pub const OVERFLOW: &str = "http://aws.test/1/overflow";
pub const DEAD_LETTERS: &str = "http://aws.test/1/dead-letters";

/// All messages of both queues.
#[derive(Debug, Default)]
pub struct Queues {
    overflow: BTreeMap<u64, Message>,
    /// Messages that the overflow queue got so far.
    pub sent: u64,
    /// The bodies in the dead-letter queue.
    pub dead_letters: Vec<String>,
}

#[derive(Debug)]
struct Message {
    body: String,
    /// When it can be received, since the beginning of the run.
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
    pub(super) fn send(&mut self, call: &Value) -> Answer {
        let body = call["MessageBody"].as_str().unwrap_or_default().to_owned();
        let md5 = HEXLOWER.encode(&Md5::digest(&body));
        if call["QueueUrl"] == OVERFLOW {
            let message = Message {
                body,
                visible_at: Duration::ZERO,
            };
            self.overflow.insert(self.sent, message);
            self.sent += 1;
        } else {
            self.dead_letters.push(body);
        }
        Answer {
            status: 200,
            body: json!({"MessageId": self.sent.to_string(), "MD5OfMessageBody": md5}),
        }
    }

    /// Messages that are not deleted.
    pub fn remaining(&self) -> usize {
        self.overflow.len()
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
