//! The deliveries of the overflow queue during a run: the function gets messages at least once, and
//! again after a failure. This module must not know what is in a message.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_local};
use tokio::time::sleep;

use crate::aws::Aws;
use crate::lambda::Lambda;

/// How long a message that was received is invisible. It is longer than an invocation takes.
const INVISIBLE: Duration = Duration::from_secs(70);

/// How often an empty queue is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Messages of one event, at most: template.yaml's `BatchSize`.
pub(crate) const BATCH_SIZE: usize = 10;

/// One drained message of this many is delivered again.
const REPEATED_EVERY: u8 = 20;

/// How long a message that failed waits at most, in milliseconds. On AWS it takes six minutes.
const LONGEST_WAIT: u64 = 10_000;

/// Starts so many drains at once. Each continues until `is_over` and no message is left, or for `limit`
/// after that.
pub fn start(
    count: usize,
    aws: &Aws,
    lambda: &Lambda,
    random: &mut fastrand::Rng,
    is_over: &Rc<Cell<bool>>,
    limit: Duration,
) -> Vec<JoinHandle<()>> {
    let drain = |_| {
        let drain = run(
            aws.clone(),
            lambda.clone(),
            random.fork(),
            is_over.clone(),
            limit,
        );
        spawn_local(drain)
    };
    (0..count).map(drain).collect()
}

async fn run(
    aws: Aws,
    lambda: Lambda,
    mut random: fastrand::Rng,
    is_over: Rc<Cell<bool>>,
    limit: Duration,
) {
    let mut over_at = None;
    loop {
        let now = aws.elapsed();
        if is_over.get() {
            let over_at = *over_at.get_or_insert(now);
            let is_empty = aws.state().queues.remaining() == 0;
            if is_empty || now > over_at + limit {
                return;
            }
        }
        // Sometimes a message is delivered again while its first drain is under way.
        let invisible = if random.u8(..REPEATED_EVERY) == 0 {
            Duration::from_secs(1)
        } else {
            INVISIBLE
        };
        let batch_size = random.usize(1..=BATCH_SIZE);
        let messages = aws
            .state()
            .queues
            .receive(batch_size, now, invisible, &mut random);
        if messages.is_empty() {
            sleep(POLL_INTERVAL).await;
            continue;
        }
        let ids: Vec<u64> = messages.iter().map(|message| message.id).collect();
        let failed = lambda.drain(messages).await;
        let now = aws.elapsed();
        for id in ids {
            let has_failed = failed.as_ref().is_none_or(|failed| failed.contains(&id));
            let is_repeated = random.u8(..REPEATED_EVERY) == 0;
            let queues = &mut aws.state().queues;
            if has_failed || is_repeated {
                queues.show(id, now + Duration::from_millis(random.u64(..LONGEST_WAIT)));
            } else {
                queues.delete(id);
            }
        }
    }
}
