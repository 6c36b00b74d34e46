//! The overflow queue of the stack, and what Lambda does between it and the function that drains it
//! ("Using Lambda with Amazon SQS" in the Lambda developer guide). Must not know what is in a
//! message.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, Message, OVERFLOW_QUEUE};
use emulator::{Storage, Template};
use overflow::{SqsEvent, SqsMessage};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::functions::Functions;
use crate::log;
use crate::progress::status;

/// How often an empty queue is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a message that was received and not deleted is hidden. In template.yaml it is minutes;
/// here a developer waits.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(5);

/// The variables of the queues: two that the template has, and the SDK's.
pub(crate) const VARIABLES: [&str; 3] = [
    "OVERFLOW_QUEUE_URL",
    "DEAD_LETTER_QUEUE_URL",
    "AWS_ENDPOINT_URL_SQS",
];

/// Its messages, and the drain of them.
#[derive(Clone)]
pub(crate) struct Queue {
    sqs: Arc<FakeSqs>,
    /// Held while a drain is under way.
    draining: Arc<Mutex<()>>,
}

impl Queue {
    /// Waits for a drain that is under way, and deletes all messages. None is drained until the
    /// guard is dropped.
    pub(crate) async fn empty(&self) -> OwnedMutexGuard<()> {
        let guard = Arc::clone(&self.draining).lock_owned().await;
        self.sqs.clear();
        guard
    }
}

/// The queue. Dropping it prints what becomes of messages that are left.
pub(crate) struct Overflow {
    pub(crate) queue: Queue,
    /// Where it is kept; `None` for in memory.
    file: Option<PathBuf>,
    batch_size: usize,
}

impl Overflow {
    /// The queue of the function that the template has behind one, beside the data file if there is
    /// one; `None` if it has none.
    ///
    /// # Errors
    /// No port is free, or the file of the queue cannot be used.
    pub(crate) async fn start(template: &Template, storage: &Storage) -> Result<Option<Self>> {
        let batch_size = template
            .functions
            .iter()
            .find_map(|function| function.batch_size);
        let Some(batch_size) = batch_size else {
            return Ok(None);
        };
        let file = match storage {
            Storage::File(data) => Some(data.with_added_extension("queue")),
            Storage::Memory => None,
        };
        let sqs = match &file {
            Some(file) => FakeSqs::start_in(file).await?,
            None => FakeSqs::start().await?,
        };
        let queue = Queue {
            sqs: Arc::new(sqs),
            draining: Arc::default(),
        };
        Ok(Some(Self {
            queue,
            file,
            batch_size,
        }))
    }

    /// What the functions and the operator need to find it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let values = [
            OVERFLOW_QUEUE.to_owned(),
            DEAD_LETTER_QUEUE.to_owned(),
            self.queue.sqs.endpoint(),
        ];
        VARIABLES.map(str::to_owned).into_iter().zip(values)
    }

    /// Has its function drain it until the runtime ends.
    pub(crate) fn drain(&self, functions: Functions) {
        let Queue { sqs, draining } = self.queue.clone();
        let batch_size = self.batch_size;
        tokio::spawn(async move {
            let mut dead_letters = sqs.dead_letters();
            loop {
                let drain = draining.lock().await;
                let messages = sqs.receive(batch_size, VISIBILITY_TIMEOUT);
                if sqs.dead_letters() > dead_letters {
                    log::write(
                        "A message became a dead letter: the overflow function did not store it.",
                    );
                }
                dead_letters = sqs.dead_letters();
                if messages.is_empty() {
                    drop(drain);
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
                let Some(response) = functions.drain(event(&messages)).await else {
                    continue;
                };
                let failures = response.batch_item_failures.into_iter();
                let failed: HashSet<_> = failures.map(|failure| failure.item_identifier).collect();
                for message in messages {
                    if !failed.contains(&message.id) {
                        sqs.delete(&message.id);
                    }
                }
            }
        });
    }
}

/// The event that Lambda makes of messages.
fn event(messages: &[Message]) -> SqsEvent {
    let records = messages.iter().map(|message| SqsMessage {
        message_id: message.id.clone(),
        body: message.body.clone(),
    });
    SqsEvent {
        records: records.collect(),
    }
}

impl Drop for Overflow {
    fn drop(&mut self) {
        match (
            self.queue.sqs.remaining() + self.queue.sqs.dead_letters(),
            &self.file,
        ) {
            (0, _) => {}
            (left, Some(file)) => {
                status(&format!(
                    "Messages with deferred data that are kept in {}: {left}.",
                    file.display()
                ));
            }
            (left, None) => {
                status(&format!(
                    "Messages with deferred data that are lost with the queue: {left} (--data FILE keeps them)."
                ));
            }
        }
    }
}
