//! The event source mapping between the overflow queue and the function that drains it: delivers messages at least once, in
//! no order, again after a failure. Must not know what is in a message.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use emulator::sqs::FakeSqs;
use sandbox::runtime_api::EventQueue;

/// Messages of a batch, and bytes of their bodies: template.yaml's, and what Lambda's limit of 6 MB leaves.
const BATCH: usize = 10;
const BATCH_BYTES: usize = 5 * 1024 * 1024;

/// Batches that are drained at once.
const CONCURRENCY: usize = 2;

/// After which a message that was not drained is delivered again. On AWS it is minutes.
const VISIBILITY_TIMEOUT: Duration = Duration::from_millis(500);

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

#[derive(Clone)]
struct Message {
    id: u64,
    body: Rc<str>,
    visible_at: Instant,
}

/// Drains until `is_over` says that no message follows and the queue is empty.
pub(super) async fn run(
    queue: Rc<FakeSqs>,
    events: EventQueue,
    mut random: fastrand::Rng,
    is_over: impl Fn() -> bool,
) -> Drained {
    let mut drained = Drained::default();
    let mut waiting: VecDeque<Message> = VecDeque::new();
    let mut batches = JoinSet::new();
    let mut ids = 0_u64..;
    loop {
        // In this order: what is sent before it is over is seen.
        let is_last = is_over();
        let now = Instant::now();
        let arrived = queue.take_messages();
        drained.messages += arrived.len() as u64;
        waiting.extend(arrived.into_iter().zip(&mut ids).map(|(body, id)| Message {
            id,
            body: body.into(),
            visible_at: now,
        }));
        while batches.len() < CONCURRENCY {
            let batch = take_batch(&mut waiting, now);
            if batch.is_empty() {
                break;
            }
            batches.spawn_local(deliver(events.clone(), batch));
        }
        if is_last && waiting.is_empty() && batches.is_empty() {
            return drained;
        }
        tokio::select! {
            Some(done) = batches.join_next() => {
                let (mut batch, failed) = done.expect("a delivery does not fail");
                for message in &mut batch {
                    message.visible_at = Instant::now() + VISIBILITY_TIMEOUT;
                }
                let (failed, done): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(|message| failed.as_ref().is_none_or(|failed| failed.contains(&message.id)));
                drained.failures += failed.len() as u64;
                waiting.extend(failed);
                let repeated: Vec<_> = done.into_iter().filter(|_| random.u8(..20) == 0).collect();
                drained.repeated += repeated.len() as u64;
                waiting.extend(repeated);
            }
            () = sleep(Duration::from_millis(20)) => {}
        }
    }
}

/// The visible messages that fit into one batch.
fn take_batch(waiting: &mut VecDeque<Message>, now: Instant) -> Vec<Message> {
    let (mut batch, mut bytes) = (Vec::new(), 0_usize);
    for _ in 0..waiting.len() {
        let Some(message) = waiting.pop_front() else { break };
        bytes += message.body.len();
        if message.visible_at > now || batch.len() == BATCH || bytes > BATCH_BYTES {
            bytes -= message.body.len();
            waiting.push_back(message);
        } else {
            batch.push(message);
        }
        if batch.len() == BATCH {
            break;
        }
    }
    batch
}

/// The batch, and which of its messages are not drained; `None` for all of them.
async fn deliver(events: EventQueue, batch: Vec<Message>) -> (Vec<Message>, Option<Vec<u64>>) {
    let record = |message: &Message| json!({"messageId": message.id.to_string(), "body": &*message.body, "eventSource": "aws:sqs"});
    let event = json!({"Records": batch.iter().map(record).collect::<Value>()});
    let response = events.invoke(event.to_string().into()).await.map(|invocation| invocation.json());
    let failures = response.as_ref().and_then(|response| response["batchItemFailures"].as_array());
    let id = |failure: &Value| failure["itemIdentifier"].as_str()?.parse().ok();
    (batch, failures.map(|failures| failures.iter().filter_map(id).collect()))
}
