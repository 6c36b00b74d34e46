//! The deliveries of the overflow queue: the overflow function gets messages at least once, and again
//! after a failure. This module must not know what is in a message.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use emulator::sqs::FakeSqs;
use harness::template;
use processes::runtime_api::EventQueue;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::REPORT_INTERVAL;

/// Events that are drained at once: more than one, so that two write the same customer.
const DRAINS: usize = 2;

/// How long a message that was received is hidden. On AWS a message is received again minutes later.
const HIDDEN: Duration = Duration::from_secs(2);

/// How often an empty queue is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long draining may take after the last request.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Starts to drain, until no message follows (`is_over`) and the queue is empty.
pub(super) fn start(
    queue: &Arc<FakeSqs>,
    events: &EventQueue,
    is_over: &Rc<Cell<bool>>,
) -> [JoinHandle<()>; DRAINS] {
    [(); DRAINS].map(|()| {
        let drain = run(queue.clone(), events.clone(), is_over.clone());
        tokio::task::spawn_local(drain)
    })
}

async fn run(queue: Arc<FakeSqs>, events: EventQueue, is_over: Rc<Cell<bool>>) {
    let invoke = async |event: Value| {
        let invocation = events.invoke(event.to_string().into()).await;
        invocation.map_or(Value::Null, |invocation| invocation.json())
    };
    let batch_size = template()
        .batch_size()
        .expect("template.yaml has a function that drains the queue");
    while !is_over.get() || queue.remaining() > 0 {
        if !queue.deliver(batch_size, HIDDEN, invoke).await {
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Waits until these have drained the queue, and says how many messages remain.
///
/// # Errors
/// When a message remains after [`TIMEOUT`].
pub(super) async fn finish(draining: [JoinHandle<()>; DRAINS], queue: &FakeSqs) -> Result<()> {
    let began = Instant::now();
    while queue.remaining() > 0 {
        let messages = queue.remaining();
        ensure!(
            began.elapsed() < TIMEOUT,
            "{messages} messages of the overflow queue are not drained"
        );
        eprintln!("history: {messages} messages of the overflow queue remain");
        sleep(REPORT_INTERVAL).await;
    }
    for drain in draining {
        drain.await?;
    }
    Ok(())
}
