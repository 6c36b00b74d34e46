//! The queues in a file: a line for each change, so that a process that is killed loses none. Must not know what is in a message.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{FakeSqs, Message, Queue, Queues};
use crate::for_owner;

/// The file, to which changes are appended.
#[derive(Debug)]
pub(super) struct Journal(File);

impl Journal {
    /// Appends a change before it is acknowledged.
    fn append(&mut self, change: &Value) -> io::Result<()> {
        self.0.write_all(format!("{change}\n").as_bytes())
    }
}

/// The queues that the file has, which is then written anew with only what is left in them.
pub(super) fn open(path: &Path) -> Result<Queues> {
    let cannot_use = || format!("Cannot use the queue's file {}", path.display());
    let mut queues = Queues::default();
    match std::fs::read_to_string(path) {
        Ok(text) => text.lines().for_each(|line| apply(&mut queues, line)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(cannot_use),
    }
    let new = path.with_added_extension("new");
    let file = for_owner().truncate(true).open(&new).with_context(cannot_use)?;
    let mut journal = Journal(file);
    for message in queues.overflow.messages.iter().chain(&queues.dead_letters.messages) {
        journal.append(&sent(message)).with_context(cannot_use)?;
    }
    for message in &queues.dead_letters.messages {
        journal.append(&json!({"dead": message.id})).with_context(cannot_use)?;
    }
    std::fs::rename(&new, path).with_context(cannot_use)?;
    queues.journal = Some(journal);
    Ok(queues)
}

fn sent(message: &Message) -> Value {
    json!({"sent": message.id, "body": message.body, "reason": message.reason})
}

/// A last line that a killed process has left unfinished is no change: its message was not acknowledged.
fn apply(queues: &mut Queues, line: &str) {
    let change: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |name: &str| change.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    if let (Some(id), Some(body)) = (text("sent"), text("body")) {
        queues.sent = queues.sent.max(id.parse::<u64>().map_or(0, |number| number + 1));
        let reason = text("reason");
        queues.overflow.messages.push(Message { id, body, reason, receives: 0, visible_at: Instant::now() });
    } else if let Some(id) = text("dead") {
        let dead = queues.overflow.messages.extract_if(.., |message| message.id == id);
        queues.dead_letters.messages.extend(dead);
    } else if let Some(id) = text("deleted") {
        queues.overflow.messages.retain(|message| message.id != id);
    } else if change.get("cleared").is_some() {
        queues.overflow.messages.clear();
        queues.dead_letters.messages.clear();
    } else if change.get("redriven").is_some() {
        queues.overflow.messages.append(&mut queues.dead_letters.messages);
    }
}

impl FakeSqs {
    /// Deletes every message of both queues.
    pub fn clear(&self) {
        self.0.service.queues(Queues::clear);
    }

    /// The messages that the overflow queue takes from here on.
    pub fn sent_messages(&self) -> mpsc::UnboundedReceiver<String> {
        let (observer, messages) = mpsc::unbounded_channel();
        self.0.service.queues(|queues| queues.observer = Some(observer));
        messages
    }
}

impl Queues {
    fn clear(&mut self) {
        self.keep(&json!({"cleared": true}));
        self.overflow.messages.clear();
        self.dead_letters.messages.clear();
    }

    /// Keeps a change, if the queues are in a file; whether it is kept.
    fn keep(&mut self, change: &Value) -> bool {
        self.journal.as_mut().is_none_or(|journal| journal.append(change).is_ok())
    }

    /// Keeps a message that was sent to a queue.
    pub(super) fn keep_sent(&mut self, message: &Message, is_dead: bool) -> bool {
        self.keep(&sent(message)) && (!is_dead || self.keep(&json!({"dead": message.id})))
    }

    /// Keeps that messages became dead letters.
    pub(super) fn keep_dead(&mut self, messages: &[Message]) {
        for message in messages {
            self.keep(&json!({"dead": message.id}));
        }
    }

    /// Keeps that a message was deleted. Lost, it is received again, as on AWS.
    pub(super) fn keep_deleted(&mut self, id: &str) {
        self.keep(&json!({"deleted": id}));
    }

    /// Keeps that all dead letters are back.
    pub(super) fn keep_redriven(&mut self) {
        self.keep(&json!({"redriven": true}));
    }
}

impl Queue {
    /// The ids and bodies of its messages.
    #[cfg(test)]
    fn contents(&self) -> Vec<(&str, &str)> {
        self.messages.iter().map(|message| (message.id.as_str(), message.body.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::{DEAD_LETTER_QUEUE, OVERFLOW_QUEUE};
    use super::open;

    #[test]
    fn queues_in_a_file_are_there_again_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.sqlite.queue");
        let mut queues = open(&path).unwrap();
        for (url, body) in
            [(OVERFLOW_QUEUE, "a"), (OVERFLOW_QUEUE, "b\n"), (DEAD_LETTER_QUEUE, "c"), (OVERFLOW_QUEUE, "d")]
        {
            queues.answer("SendMessage", json!({"QueueUrl": url, "MessageBody": body})).unwrap();
        }
        queues.receive(1, Duration::from_secs(5), std::time::Instant::now());
        queues.delete("0");
        drop(queues);
        let unfinished = std::fs::read_to_string(&path).unwrap() + "{\"sent\":\"9\",\"bo";
        std::fs::write(&path, unfinished).unwrap();

        for _ in 0..2 {
            let queues = open(&path).unwrap();
            assert_eq!(queues.overflow.contents(), [("1", "b\n"), ("3", "d")]);
            assert_eq!(queues.dead_letters.contents(), [("2", "c")]);
            assert_eq!(queues.sent, 4);
        }
        open(&path).unwrap().answer("StartMessageMoveTask", json!({})).unwrap();
        assert_eq!(open(&path).unwrap().overflow.messages.len(), 3);
        open(&path).unwrap().clear();
        assert_eq!(open(&path).unwrap().overflow.contents(), []);
    }
}
