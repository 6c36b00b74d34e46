//! The event source mapping between the overflow queue and the function that drains it: delivers
//! messages at least once, and again after a failure. Must not know what is in a message.

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use emulator::sqs::{self, FakeSqs, Message};
use sandbox::runtime_api::EventQueue;

/// Messages of a batch: template.yaml's.
const BATCH: usize = 10;

/// Longer than the function drains a batch.
const VISIBILITY_TIMEOUT: Duration = Duration::from_mins(2);

/// Batches that are drained at once.
const CONCURRENCY: usize = 2;

/// What was drained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drained {
    /// Messages.
    pub messages: u64,
    /// Deliveries of a message that did not drain it.
    pub failures: u64,
    /// Messages that were delivered again after they had been drained.
    pub repeated: u64,
}

/// Drains until `is_over` says that no message follows and the queue is empty.
pub(super) async fn run(
    queue: Rc<FakeSqs>,
    events: EventQueue,
    mut random: fastrand::Rng,
    is_over: impl Fn() -> bool,
) -> Drained {
    let mut drained = Drained::default();
    let mut batches = JoinSet::new();
    loop {
        // In this order: what is sent before it is over is seen.
        let is_last = is_over();
        while batches.len() < CONCURRENCY {
            let batch = queue.receive(BATCH, VISIBILITY_TIMEOUT);
            if batch.is_empty() {
                break;
            }
            batches.spawn_local(deliver(events.clone(), batch));
        }
        if is_last && queue.remaining() == 0 && batches.is_empty() {
            return Drained {
                messages: queue.sent(),
                ..drained
            };
        }
        tokio::select! {
            Some(done) = batches.join_next() => {
                let (batch, response) = done.expect("a delivery does not fail");
                let done = sqs::drained(&batch, &response);
                for Message { id, .. } in &batch {
                    let is_drained = done.contains(&id.as_str());
                    if is_drained && random.u8(..20) != 0 {
                        queue.delete(id);
                        continue;
                    }
                    *(if is_drained { &mut drained.repeated } else { &mut drained.failures }) += 1;
                    // Sooner than on AWS, where it is minutes.
                    queue.release(id);
                }
            }
            () = sleep(Duration::from_millis(20)) => {}
        }
    }
}

/// The batch, and the response to its event; null when the process ended.
async fn deliver(events: EventQueue, batch: Vec<Message>) -> (Vec<Message>, Value) {
    let event = sqs::event(&batch).to_string();
    let invocation = events.invoke(event.into()).await;
    (
        batch,
        invocation
            .map(|invocation| invocation.json())
            .unwrap_or_default(),
    )
}
