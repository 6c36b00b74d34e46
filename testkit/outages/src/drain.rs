//! Empties the overflow queue after a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emulator::sqs::{EventSourceMapping, FakeSqs};
use sandbox::runtime_api::EventQueue;

/// Longer than the overflow function drains a batch.
const VISIBILITY_TIMEOUT: Duration = Duration::from_mins(2);

/// How long a queue is drained, at most.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Drains until the queue is empty. DynamoDB must be available.
///
/// # Errors
/// The queue is not empty in time.
pub(crate) async fn run(queue: &Arc<FakeSqs>, events: &EventQueue) -> Result<()> {
    let began = Instant::now();
    let source = testkit::template().event_source();
    let source = source.context("template.yaml has no function behind a queue")?;
    let events = events.clone();
    let invoke = move |event| {
        let events = events.clone();
        async move { events.response_to(&event).await }
    };
    let mapping = EventSourceMapping::new(Arc::clone(queue), source, VISIBILITY_TIMEOUT, invoke);
    let mut mapping = mapping.retry_at_once();
    while mapping.deliver_next().await.is_some() {
        ensure!(
            began.elapsed() < TIMEOUT,
            "{} messages of the overflow queue are not drained after {} s",
            queue.remaining(),
            TIMEOUT.as_secs()
        );
    }
    Ok(())
}
