//! The queues, in a database in memory or in a file. This module must not know what is in a message,
//! nor how a call is written.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rusqlite::{Connection, Row, params};
use serde_json::Value;

use crate::emulator::data_file;

/// The largest message with its attributes, in bytes ("Amazon SQS message quotas").
pub(super) const MAX_BYTES: usize = 1024 * 1024;

/// A message that was received this often and not deleted becomes a dead letter: the
/// `maxReceiveCount` of template.yaml.
const MAX_RECEIVES: u32 = 1_000;

/// The bodies of the messages that are received together, in bytes. A body may double in an event,
/// for which Lambda's limit is 6 MB.
const MAX_RECEIVED_BYTES: usize = 3 * MAX_BYTES;

/// The table of the messages. Those that a process had received when it was killed are visible again.
/// `visible_at` is in milliseconds since the database was opened. A process that is killed has handed
/// to the operating system what it wrote, so nothing has to wait for the disk.
const OPEN: &str = "
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS messages (
        id INTEGER PRIMARY KEY, body TEXT NOT NULL, reason TEXT, is_dead INTEGER NOT NULL,
        receives INTEGER NOT NULL DEFAULT 0, visible_at INTEGER NOT NULL DEFAULT 0
    );
    UPDATE messages SET receives = 0, visible_at = 0;";

/// A message that was received.
#[derive(Clone, Debug)]
pub struct QueueMessage {
    pub id: String,
    pub body: String,
    /// Why it is a dead letter, if the overflow function said so.
    pub reason: Option<String>,
}

#[derive(Debug)]
pub(super) struct Queues {
    messages: Connection,
    opened: Instant,
    /// The id of the next message.
    pub(super) sent: u64,
    pub(super) connections: u64,
    pub(super) calls: Vec<(String, Value)>,
    /// What a test says that a queue counts, one after another; the last one stays.
    pub(super) overflow_counts: VecDeque<[u64; 3]>,
    pub(super) dead_letter_counts: VecDeque<[u64; 3]>,
}

impl Queues {
    pub(super) fn in_memory() -> Result<Self> {
        let messages = Connection::open_in_memory();
        Self::new(messages.context("Cannot open a queue in memory")?)
    }

    /// The queues that a file has. It is created when there is none, and only its owner can read it.
    ///
    /// # Errors
    /// The file cannot be read or written, or another program or another version has made it. It then
    /// stays as it is.
    pub(super) fn open(path: &Path) -> Result<Self> {
        data_file::ensure_own(path, "messages")?;
        let cannot_open = || format!("Cannot use the queue's file {}", path.display());
        let messages = data_file::open_database(path).with_context(cannot_open)?;
        Self::new(messages).with_context(cannot_open)
    }

    fn new(messages: Connection) -> Result<Self> {
        messages.execute_batch(OPEN)?;
        let next_id = "SELECT ifnull(max(id) + 1, 0) FROM messages";
        Ok(Self {
            sent: messages.query_row(next_id, [], |row| row.get(0))?,
            messages,
            opened: Instant::now(),
            connections: 0,
            calls: Vec::new(),
            overflow_counts: VecDeque::new(),
            dead_letter_counts: VecDeque::new(),
        })
    }

    /// Adds a message, and returns its id.
    pub(super) fn add(
        &mut self,
        body: &str,
        reason: Option<&str>,
        is_dead: bool,
    ) -> rusqlite::Result<u64> {
        let id = self.sent;
        let insert = "INSERT INTO messages (id, body, reason, is_dead) VALUES (?1, ?2, ?3, ?4)";
        self.messages
            .execute(insert, params![id, body, reason, is_dead])?;
        self.sent += 1;
        Ok(id)
    }

    /// Deletes a message.
    pub(super) fn delete(&self, id: &str) -> rusqlite::Result<()> {
        self.change("DELETE FROM messages WHERE id = ?1", [id])
    }

    /// Deletes all messages.
    pub(super) fn clear(&self) -> rusqlite::Result<()> {
        self.change("DELETE FROM messages", [])
    }

    /// Deletes the messages with a body that `is_unwanted`.
    pub(super) fn delete_bodies(&self, is_unwanted: impl Fn(&str) -> bool) -> rusqlite::Result<()> {
        for message in self.read("SELECT id, body, reason FROM messages", [])? {
            if is_unwanted(&message.body) {
                self.delete(&message.id)?;
            }
        }
        Ok(())
    }

    /// Moves all dead letters to the overflow queue.
    pub(super) fn redrive(&self) -> rusqlite::Result<()> {
        let redrive =
            "UPDATE messages SET is_dead = FALSE, receives = 0, visible_at = 0 WHERE is_dead";
        self.change(redrive, [])
    }

    /// Up to `most` messages that are visible, which are hidden for this long from `now` on.
    pub(super) fn receive(
        &self,
        most: usize,
        hidden: Duration,
        now: Instant,
    ) -> rusqlite::Result<Vec<QueueMessage>> {
        let visible_at = self.since_opened(now + hidden);
        let now = self.since_opened(now);
        let move_dead_letters = "UPDATE messages SET is_dead = TRUE
            WHERE NOT is_dead AND visible_at <= ?1 AND receives >= ?2";
        self.change(move_dead_letters, params![now, MAX_RECEIVES])?;
        let visible = "SELECT id, body, reason FROM messages
            WHERE NOT is_dead AND visible_at <= ?1 ORDER BY id LIMIT ?2";
        let mut received = Vec::new();
        let mut bytes = 0;
        for message in self.read(visible, params![now, most])? {
            bytes += message.body.len();
            if bytes > MAX_RECEIVED_BYTES {
                break;
            }
            let hide = "UPDATE messages SET visible_at = ?1, receives = receives + 1 WHERE id = ?2";
            self.change(hide, params![visible_at, message.id])?;
            received.push(message);
        }
        Ok(received)
    }

    /// Takes all messages of a queue.
    pub(super) fn take(&self, is_dead: bool) -> rusqlite::Result<Vec<QueueMessage>> {
        let all = "SELECT id, body, reason FROM messages WHERE is_dead = ?1 ORDER BY id";
        let messages = self.read(all, [is_dead])?;
        self.change("DELETE FROM messages WHERE is_dead = ?1", [is_dead])?;
        Ok(messages)
    }

    /// How many messages a queue has.
    pub(super) fn remaining(&self, is_dead: bool) -> rusqlite::Result<u64> {
        let count = "SELECT count(*) FROM messages WHERE is_dead = ?1";
        self.messages.query_row(count, [is_dead], |row| row.get(0))
    }

    /// How many messages of a queue wait, and how many are in flight, as SQS counts them.
    pub(super) fn waiting_and_in_flight(
        &self,
        is_dead: bool,
        now: Instant,
    ) -> rusqlite::Result<[u64; 2]> {
        let count = "SELECT count(*) FILTER (WHERE visible_at <= ?2), count(*) FILTER (WHERE visible_at > ?2)
            FROM messages WHERE is_dead = ?1";
        let counted = params![is_dead, self.since_opened(now)];
        self.messages
            .query_row(count, counted, |row| Ok([row.get(0)?, row.get(1)?]))
    }

    fn change(&self, statement: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.messages.execute(statement, values).map(drop)
    }

    fn read(
        &self,
        query: &str,
        values: impl rusqlite::Params,
    ) -> rusqlite::Result<Vec<QueueMessage>> {
        let message = |row: &Row<'_>| {
            Ok(QueueMessage {
                id: row.get::<_, u64>(0)?.to_string(),
                body: row.get(1)?,
                reason: row.get(2)?,
            })
        };
        let mut query = self.messages.prepare_cached(query)?;
        query.query_map(values, message)?.collect()
    }

    fn since_opened(&self, time: Instant) -> i64 {
        let millis = time.duration_since(self.opened).as_millis();
        i64::try_from(millis).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests;
