//! Retries of a batch that was deferred or got a 503: its signals are stored once.

use std::time::Duration;

use serde_json::json;
use simulator::aws::faults::{Fault, Target};

use crate::support::clock::NOW;
use crate::support::requests::{batch_with_identifier, signals};
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

#[tokio::test(start_paused = true)]
async fn retry_with_the_identifier_of_a_503_is_stored_once_through_the_queue() {
    let second_chunk = Fault::Lost
        .where_body_has("\"29\"")
        .for_operation("BatchWriteItem");
    let queue_fails = Fault::ServerError.always().on(Target::Sqs);
    let stack = Stack::start([second_chunk, queue_fails]);
    let failed = stack.send(&json!({"signals": signals(30)}), NOW).await;
    assert_eq!(failed.status, 503);
    let identifier = failed.json()["requestIdentifier"].clone();
    stack.set([Fault::AnswerLost.always()]);
    let retry = json!({"requestIdentifier": identifier, "signals": signals(30)});
    stack
        .send_deferred(&retry, NOW.plus(Duration::from_secs(1)), 30)
        .await;
    stack.set([]);
    stack.drain().await;
    assert_eq!(stack.stored().len(), 30);
}

#[tokio::test(start_paused = true)]
async fn request_whose_record_is_unknown_gets_no_identifier_to_retry_with() {
    let stack = Stack::start([]);
    assert_not_deferred(&stack.send(&json!({"signals": signals(2)}), NOW).await);
    let queue_fails = Fault::ServerError.always().on(Target::Sqs);
    stack.set([Fault::Lost.always(), queue_fails]);
    let response = stack.send(&batch_with_identifier(2), NOW).await;
    response.assert_problem(503, "storage-unavailable");
    let body = response.json();
    assert_eq!(body.get("requestIdentifier"), None, "{body}");
}
