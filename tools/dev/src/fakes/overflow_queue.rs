//! The overflow queue of the stack, which the overflow function drains. Of a message, it
//! knows only whose account it belongs to.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use emulator::{Storage, Template};
use model::account::AccountId;
use serde_json::Value;
use store::overflow_messages::{DEAD_LETTER_QUEUE_VARIABLE, QUEUE_VARIABLE};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::functions::Functions;
use crate::terminal::{print_with_time, status};

/// How often an empty queue is asked for messages.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a message that was received and not deleted is hidden. It is shorter than the minutes
/// of template.yaml because a developer waits for the next drain.
pub(crate) const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(5);

/// Access to the messages of the queue, which no drain interrupts.
#[derive(Clone)]
pub(crate) struct QueueHandle {
    sqs: Arc<FakeSqs>,
    /// Locked while a drain is under way.
    draining: Arc<Mutex<()>>,
}

impl QueueHandle {
    /// Waits for a drain that is under way, and deletes all messages, or those of an account. None
    /// is drained until the guard is dropped.
    pub(crate) async fn empty(&self, account: Option<&AccountId>) -> OwnedMutexGuard<()> {
        let guard = Arc::clone(&self.draining).lock_owned().await;
        match account {
            Some(account) => {
                let is_of_account = |body: &str| account_of(body).as_ref() == Some(account);
                self.sqs.delete_bodies(is_of_account);
            }
            None => self.sqs.clear(),
        }
        guard
    }
}

/// The account whose data a message has.
fn account_of(body: &str) -> Option<AccountId> {
    let message: Value = serde_json::from_str(body).ok()?;
    message.get("accountId")?.as_str()?.parse().ok()
}

/// The running queue. When it is dropped, it prints what becomes of the messages that are left.
pub(crate) struct OverflowQueue {
    pub(crate) queue: QueueHandle,
    /// The file of the queue. `None` if it is in memory.
    file: Option<PathBuf>,
    /// The messages in an event, at most.
    batch_size: usize,
}

impl OverflowQueue {
    /// Starts the queue. The messages are in a file beside the data file, or in memory if there is no
    /// data file.
    ///
    /// # Errors
    /// No function of the template drains a queue, no port is free, or the file of the queue cannot be
    /// used.
    pub(crate) async fn start(template: &Template, storage: &Storage) -> Result<Self> {
        let batch_size = template
            .batch_size()
            .context("template.yaml has no function behind a queue.")?;
        let file = file_of(storage);
        let sqs = match &file {
            Some(file) => FakeSqs::start_in(file).await?,
            None => FakeSqs::start().await?,
        };
        let queue = QueueHandle {
            sqs: Arc::new(sqs),
            draining: Arc::default(),
        };
        Ok(Self {
            queue,
            file,
            batch_size,
        })
    }

    /// The SQS that has the queue.
    pub(crate) fn sqs(&self) -> &FakeSqs {
        &self.queue.sqs
    }

    /// How many messages are in the queue and in its dead-letter queue.
    fn messages(&self) -> u64 {
        let sqs = &self.queue.sqs;
        sqs.remaining() + sqs.dead_letters()
    }

    /// The variables by which the functions and the operator find the queues.
    pub(crate) fn variables() -> [(String, String); 2] {
        [
            (QUEUE_VARIABLE, OVERFLOW_QUEUE),
            (DEAD_LETTER_QUEUE_VARIABLE, DEAD_LETTER_QUEUE),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// Has the overflow function drain the queue until the runtime ends.
    pub(crate) fn drain(&self, functions: Functions) {
        let QueueHandle { sqs, draining } = self.queue.clone();
        let batch_size = self.batch_size;
        tokio::spawn(async move {
            let mut dead_letters = sqs.dead_letters();
            loop {
                let drain = draining.lock().await;
                let invoke = |event| response_to(&functions, event);
                let is_delivered = sqs.deliver(batch_size, VISIBILITY_TIMEOUT, invoke).await;
                drop(drain);
                if sqs.dead_letters() > dead_letters {
                    print_with_time(
                        "A message became a dead letter: the overflow function did not store it.",
                    );
                }
                dead_letters = sqs.dead_letters();
                if !is_delivered {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        });
    }
}

/// The file of the queue, beside the data file.
fn file_of(storage: &Storage) -> Option<PathBuf> {
    match storage {
        Storage::File(data) => Some(data.with_added_extension("queue")),
        Storage::Memory => None,
    }
}

/// The response of the overflow function to this Lambda event, or null if there is none.
async fn response_to(functions: &Functions, event: Value) -> Value {
    let Ok(event) = serde_json::from_value(event) else {
        return Value::Null;
    };
    let response = functions.drain(event).await;
    serde_json::to_value(response).unwrap_or_default()
}

impl Drop for OverflowQueue {
    fn drop(&mut self) {
        let left = self.messages();
        if left == 0 {
            return;
        }
        match &self.file {
            Some(file) => status(&format!(
                "Messages with deferred data, stored in {}: {left}.",
                file.display()
            )),
            None => status(&format!(
                "Messages with deferred data, lost with the queue: {left} (--data FILE stores them)."
            )),
        }
    }
}
