//! Empties the overflow queue after a run, as its event source mapping does. Must not know what is
//! in a message.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emulator::sqs::{self, FakeSqs, Message};
use sandbox::runtime_api::EventQueue;
use serde_json::Value;
use tokio::task::JoinSet;

/// Messages of a batch, as in template.yaml.
const BATCH: usize = 10;

/// Batches at once, as in template.yaml.
const AT_ONCE: usize = 2;

/// Longer than the function drains a batch.
const HIDDEN: Duration = Duration::from_mins(2);

/// How long a queue is drained, at most.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Drains until the queue is empty. DynamoDB must be available.
///
/// # Errors
/// It is not empty in time.
pub(crate) async fn run(queue: &FakeSqs, events: &EventQueue) -> Result<()> {
    let began = Instant::now();
    let mut batches = JoinSet::new();
    loop {
        while batches.len() < AT_ONCE {
            let batch = queue.receive(BATCH, HIDDEN);
            if batch.is_empty() {
                break;
            }
            batches.spawn(deliver(events.clone(), batch));
        }
        let Some(done) = batches.join_next().await else {
            return Ok(());
        };
        let Delivered { batch, response } = done.context("a batch has no outcome")?;
        let drained = sqs::drained(&batch, &response);
        for Message { id, .. } in &batch {
            if drained.contains(&id.as_str()) {
                queue.delete(id);
            } else {
                queue.release(id);
            }
        }
        ensure!(
            began.elapsed() < TIMEOUT,
            "{} messages of the overflow queue are not drained after {} s",
            queue.remaining(),
            TIMEOUT.as_secs()
        );
    }
}

struct Delivered {
    batch: Vec<Message>,
    /// Null when the process ended.
    response: Value,
}

async fn deliver(events: EventQueue, batch: Vec<Message>) -> Delivered {
    let event = sqs::event(&batch).to_string();
    let invocation = events.invoke(event.into()).await;
    let response = invocation.map(|invocation| invocation.json());
    Delivered {
        batch,
        response: response.unwrap_or_default(),
    }
}
