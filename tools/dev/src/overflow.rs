//! The overflow queue of the stack, and what Lambda does between it and the function that drains it
//! ("Using Lambda with Amazon SQS" in the Lambda developer guide). Must not know what is in a
//! message.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE, drained, event};
use emulator::{Storage, Template};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::deferred::DeferredSignals;
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
    /// The name of its function in the template.
    function: String,
    batch_size: usize,
}

impl Overflow {
    /// The queue of the function that the template has behind one, beside the data file if there is
    /// one; `None` if it has none.
    ///
    /// # Errors
    /// No port is free, or the file of the queue cannot be used.
    pub(crate) async fn start(template: &Template, storage: &Storage) -> Result<Option<Self>> {
        let of = template
            .functions
            .iter()
            .find_map(|function| Some((function.logical_id.clone(), function.batch_size?)));
        let Some((function, batch_size)) = of else {
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
            function,
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

    /// Which signals it takes from here on.
    pub(crate) fn deferred_signals(&self) -> DeferredSignals {
        DeferredSignals::of(self.queue.sqs.sent_messages())
    }

    /// Has its function drain it until the runtime ends.
    pub(crate) fn drain(&self, functions: Functions) {
        let (Queue { sqs, draining }, function, batch_size) =
            (self.queue.clone(), self.function.clone(), self.batch_size);
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
                let returned = functions
                    .invoke(&function, event(&messages).to_string())
                    .await
                    .unwrap_or_default();
                for id in drained(
                    &messages,
                    &serde_json::from_slice(&returned).unwrap_or_default(),
                ) {
                    sqs.delete(id);
                }
            }
        });
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
