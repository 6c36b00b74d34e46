//! The drain of the overflow queue: the overflow function gets messages at least once, and again after
//! a failure. This module must not know what is in a message.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use emulator::sqs::{FakeSqs, drained_ids, event};
use processes::runtime_api::EventQueue;
use serde_json::Value;
use tokio::time::sleep;

/// Events that are drained at once, and the messages in one: as in template.yaml.
const DRAINS: usize = 2;
const BATCH_SIZE: usize = 10;

/// How long a message that was received is hidden. On AWS a message is received again minutes later.
const HIDDEN: Duration = Duration::from_secs(2);

/// How often an empty queue is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One drained message of this many is delivered again.
const REPEATED_EVERY: u8 = 5;

/// How long the drain goes on without progress after the last request.
const PROGRESS_TIMEOUT: Duration = Duration::from_mins(5);

/// How messages were drained.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drained {
    /// Deliveries of a message that did not drain it.
    pub(super) failures: u64,
    /// Messages that were delivered again after they had been drained.
    pub(super) repeated: u64,
}

/// Drains until no message follows (`is_over`) and the queue is empty.
///
/// # Errors
/// When no message follows and the function drains none of those that are left.
pub(super) async fn run(
    queue: Arc<FakeSqs>,
    events: EventQueue,
    is_over: Rc<Cell<bool>>,
) -> Result<Drained> {
    let drains = [(); DRAINS].map(|()| {
        let drain = run_one(queue.clone(), events.clone(), is_over.clone());
        tokio::task::spawn_local(drain)
    });
    let mut total = Drained::default();
    for drain in drains {
        let drained = drain.await??;
        total.failures += drained.failures;
        total.repeated += drained.repeated;
    }
    Ok(total)
}

async fn run_one(
    queue: Arc<FakeSqs>,
    events: EventQueue,
    is_over: Rc<Cell<bool>>,
) -> Result<Drained> {
    let mut drained = Drained::default();
    let mut latest_progress = Instant::now();
    while !is_over.get() || queue.remaining() > 0 {
        if !is_over.get() {
            latest_progress = Instant::now();
        }
        ensure!(
            latest_progress.elapsed() < PROGRESS_TIMEOUT,
            "{} messages of the overflow queue are not drained",
            queue.remaining()
        );
        let messages = queue.receive(BATCH_SIZE, HIDDEN);
        if messages.is_empty() {
            sleep(POLL_INTERVAL).await;
            continue;
        }
        let invocation = events.invoke(event(&messages).to_string().into()).await;
        let response = invocation.map_or(Value::Null, |invocation| invocation.json());
        let ids = drained_ids(&messages, &response);
        drained.failures += (messages.len() - ids.len()) as u64;
        for id in ids {
            latest_progress = Instant::now();
            if fastrand::u8(..REPEATED_EVERY) == 0 {
                drained.repeated += 1;
            } else {
                queue.delete(id);
            }
        }
    }
    Ok(drained)
}
