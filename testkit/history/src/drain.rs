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
        // Asked before the queue is read, so that a message sent before the end is received.
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
                let delivery = done.expect("a delivery does not fail");
                finish(&delivery, &queue, &mut random, &mut drained);
            }
            () = sleep(Duration::from_millis(20)) => {}
        }
    }
}

/// A batch that was delivered to the function.
struct Delivery {
    batch: Vec<Message>,
    /// The response to its event; null when the process ended.
    response: Value,
}

async fn deliver(events: EventQueue, batch: Vec<Message>) -> Delivery {
    let event = sqs::event(&batch).to_string();
    let invocation = events.invoke(event.into()).await;
    let response = invocation.map(|invocation| invocation.json());
    Delivery {
        batch,
        response: response.unwrap_or_default(),
    }
}

/// Deletes the messages that were drained, and has the others received again. One drained message
/// in twenty is received again too, since SQS delivers at least once.
fn finish(delivery: &Delivery, queue: &FakeSqs, random: &mut fastrand::Rng, drained: &mut Drained) {
    let done = sqs::drained(&delivery.batch, &delivery.response);
    for Message { id, .. } in &delivery.batch {
        let is_drained = done.contains(&id.as_str());
        if is_drained && random.u8(..20) != 0 {
            queue.delete(id);
            continue;
        }
        if is_drained {
            drained.repeated += 1;
        } else {
            drained.failures += 1;
        }
        // At once; on AWS it takes minutes.
        queue.release(id);
    }
}
