//! Retries of a batch that was deferred or got a 503: its signals are stored once.

use std::time::Duration;

use simulator::aws::faults::Fault;

use crate::support::clock::NOW;
use crate::support::requests::batch_with_identifier;
use crate::support::stack::{Stack, assert_not_deferred, late, text};

#[tokio::test(start_paused = true)]
async fn retry_before_the_drain_stores_its_signals_once() {
    for fault in [
        Fault::Lost.always(),
        Fault::Throttled.always().for_operation("BatchWriteItem"),
    ] {
        let stack = Stack::start([fault.clone()]);
        stack
            .send_deferred(&batch_with_identifier(30), NOW, 30)
            .await;
        stack.set([]);
        let later = NOW.plus(Duration::from_secs(5));
        assert_not_deferred(&stack.send(&batch_with_identifier(30), later).await);
        stack.drain().await;
        assert_eq!(stack.stored().len(), 30, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_deferred_attempts_that_are_drained_together_are_stored_once() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(2), NOW).await;
    stack
        .send(&batch_with_identifier(2), NOW.plus(Duration::from_secs(1)))
        .await;
    stack.set([]);
    stack.drain().await;
    assert_eq!(stack.stored().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn identifier_that_another_body_took_keeps_the_deferred_signals() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.set([]);
    let later = NOW.plus(Duration::from_secs(1));
    let another_body = stack.send(&batch_with_identifier(1), later).await;
    assert_eq!(another_body.status, 200, "{another_body:?}");
    stack.drain().await;
    let times: Vec<_> = stack
        .stored()
        .iter()
        .map(|item| text(item, "receivedAt").unwrap().to_owned())
        .collect();
    assert_eq!(times, [NOW.to_string(), NOW.to_string(), later.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn record_that_arrives_late_changes_no_key() {
    let stack = Stack::start([late().always().for_operation("PutItem")]);
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.set([]);
    let later = NOW.plus(Duration::from_secs(1));
    let retry = stack.send(&batch_with_identifier(2), later).await.json();
    assert_eq!(retry["replayed"], false, "there is no record yet");
    stack.await_late_calls(2).await;
    stack.drain().await;
    assert_eq!(stack.stored().len(), 2);
}
