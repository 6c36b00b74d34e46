//! The drain of the overflow queue during a run: the function gets messages at least once, and
//! again after a failure. This module must not know what is in a message.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emulator::sqs::{EventSourceMapping, FakeSqs};
use processes::runtime_api::EventQueue;
use tokio::time::sleep;

/// Longer than the overflow function drains a batch.
const VISIBILITY_TIMEOUT: Duration = Duration::from_mins(2);

/// How often an empty queue is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One drained message of this many is delivered again.
const REPEATED_EVERY: u8 = 5;

/// How long the drain goes on without progress after the last request.
const PROGRESS_TIMEOUT: Duration = Duration::from_mins(5);

/// How the messages of a run were drained.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drained {
    /// Messages that were sent, all of which were drained.
    pub(super) messages: u64,
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
    let source = testkit::template().event_source();
    let source = source.context("template.yaml has no function behind a queue")?;
    let invoke = move |event| {
        let events = events.clone();
        async move { events.response_to(&event).await }
    };
    // A failed message is retried at once: on AWS it takes minutes.
    let mut mapping =
        EventSourceMapping::new(Arc::clone(&queue), source, VISIBILITY_TIMEOUT, invoke)
            .retry_at_once()
            .repeat_drained(|| fastrand::u8(..REPEATED_EVERY) == 0);
    let mut drained = Drained::default();
    let mut latest_progress = Instant::now();
    loop {
        // Asked before the queue is read, so that a message sent before the end is received.
        let is_last = is_over.get();
        if !is_last {
            latest_progress = Instant::now();
        }
        ensure!(
            latest_progress.elapsed() < PROGRESS_TIMEOUT,
            "{} messages of the overflow queue are not drained",
            queue.remaining()
        );
        if let Some(delivered) = mapping.deliver_next().await {
            if delivered.deleted > 0 {
                latest_progress = Instant::now();
            }
            drained.failures += delivered.failed;
            drained.repeated += delivered.drained_again;
            continue;
        }
        if is_last && queue.remaining() == 0 {
            drained.messages = queue.sent();
            return Ok(drained);
        }
        sleep(POLL_INTERVAL).await;
    }
}
