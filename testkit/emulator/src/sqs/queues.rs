//! The queues and what changes them, in memory or kept in a file. This module must not know what is
//! in a message, nor how a call is written.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::{Changes, Journal};

/// The largest message with its attributes, in bytes ("Amazon SQS message quotas").
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// A message that was received this often and not deleted becomes a dead letter. In template.yaml
/// it is more often, over days.
const MAX_RECEIVES: u32 = 24;

/// The bodies of the messages that are received together, in bytes. A body may double in an event,
/// for which Lambda's limit is 6 MB.
const MAX_RECEIVED_BYTES: usize = 3 * MAX_BYTES;

/// A message that was received.
#[derive(Clone, Debug)]
pub struct QueueMessage {
    pub id: String,
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
    pub(super) is_unavailable: bool,
    pub(super) calls: Vec<(String, Value)>,
    journal: Option<Journal>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) messages: Vec<QueueMessage>,
    /// What a test says that it counts, one after another; the last one stays.
    pub(super) counts: VecDeque<[u64; 3]>,
}

/// A change of the queues, as their file has it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Change {
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

impl Queues {
    /// The queues that a file has, which keeps them: it is written anew with only what is left in
    /// them. `note` takes a sentence about a message that was not written to its end.
    ///
    /// # Errors
    /// The file cannot be read or written, or has a line that is no change. The file then stays as
    /// it is.
    pub(super) fn open(path: &Path, note: impl FnOnce(&str)) -> Result<Self> {
        let mut queues = Self::default();
        let Changes {
            changes,
            unfinished_line,
        } = Journal::read(path)?;
        for change in changes {
            queues.apply(change);
        }
        if let Some(number) = unfinished_line {
            note(&format!(
                "Line {number}, the last one of the queue's file {}, is left out: it has no end, as when the stack was \
                 killed before it acknowledged a message.",
                path.display()
            ));
        }
        let overflow = &queues.overflow.messages;
        let dead_letters = &queues.dead_letters.messages;
        let messages_left = overflow
            .iter()
            .map(|message| message.as_sent(false))
            .chain(dead_letters.iter().map(|message| message.as_sent(true)));
        let journal = Journal::create(path, messages_left)?;
        queues.journal = Some(journal);
        Ok(queues)
    }

    /// Makes a change, and writes it to the file if there is one. When the file loses the change,
    /// the caller makes it again later: on AWS, too, a message may come back after it was deleted.
    pub(super) fn change(&mut self, change: Change) {
        let _ = self.write_to_journal(&change);
        self.apply(change);
    }

    pub(super) fn write_to_journal(&mut self, change: &Change) -> io::Result<()> {
        match &mut self.journal {
            Some(journal) => journal.append(change),
            None => Ok(()),
        }
    }

    pub(super) fn apply(&mut self, change: Change) {
        let overflow = &mut self.overflow.messages;
        let dead_letters = &mut self.dead_letters.messages;
        let now = Instant::now();
        match change {
            Change::Sent {
                id,
                body,
                reason,
                is_dead,
            } => {
                // Ids are numbers that count up.
                let next_number = id.parse::<u64>().map_or(0, |number| number + 1);
                self.sent = self.sent.max(next_number);
                let queue = if is_dead { dead_letters } else { overflow };
                queue.push(QueueMessage {
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
            Change::Cleared => {
                overflow.clear();
                dead_letters.clear();
            }
            Change::Redriven => {
                for message in dead_letters.drain(..) {
                    overflow.push(QueueMessage {
                        receives: 0,
                        visible_at: now,
                        ..message
                    });
                }
            }
        }
    }

    pub(super) fn delete(&mut self, id: &str) {
        self.change(Change::Deleted(id.to_owned()));
    }

    pub(super) fn clear(&mut self) {
        self.change(Change::Cleared);
    }

    /// Up to `most` messages that are visible, which are hidden for this long from `now` on.
    pub(super) fn receive(
        &mut self,
        most: usize,
        hidden: Duration,
        now: Instant,
    ) -> Vec<QueueMessage> {
        self.move_dead_letters(now);
        let messages = &mut self.overflow.messages;
        let visible = messages
            .iter_mut()
            .filter(|message| message.visible_at <= now);
        let mut received = Vec::new();
        let mut bytes = 0;
        for message in visible.take(most) {
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

    /// Moves the messages that were received too often to the dead-letter queue.
    fn move_dead_letters(&mut self, now: Instant) {
        let messages = &self.overflow.messages;
        let dead: Vec<String> = messages
            .iter()
            .filter(|message| message.visible_at <= now && message.receives >= MAX_RECEIVES)
            .map(|message| message.id.clone())
            .collect();
        for id in dead {
            self.change(Change::Dead(id));
        }
    }
}

impl Queue {
    /// Messages that wait, are in flight and are delayed.
    pub(super) fn counts(&mut self, now: Instant) -> [u64; 3] {
        let said_by_test = if self.counts.len() > 1 {
            self.counts.pop_front()
        } else {
            self.counts.front().copied()
        };
        if let Some(counts) = said_by_test {
            return counts;
        }
        let messages = &self.messages;
        let waiting = messages
            .iter()
            .filter(|message| message.visible_at <= now)
            .count();
        let in_flight = messages.len() - waiting;
        [waiting as u64, in_flight as u64, 0]
    }
}

impl QueueMessage {
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

#[cfg(test)]
mod tests;
