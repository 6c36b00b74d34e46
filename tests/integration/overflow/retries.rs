//! Retries of a batch that was deferred or got a 503: its signals are stored once.

use std::time::Duration;

use serde_json::json;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::clock::NOW;
use crate::support::overflow_stack::{OverflowStack, assert_not_deferred};
use crate::support::requests::{batch_with_identifier, signals};

#[tokio::test]
async fn retry_before_the_drain_stores_its_signals_once() {
    for fault in [
        Fault::ResetBefore.always(),
        Fault::Throttled.always().for_operation("BatchWriteItem"),
    ] {
        let stack = OverflowStack::start(fault.clone()).await;
        stack
            .send_deferred(&batch_with_identifier(30), NOW, 30)
            .await;
        stack.proxy.set(Plan::none());
        let later = NOW.plus(Duration::from_secs(5));
        assert_not_deferred(&stack.send(&batch_with_identifier(30), later).await);
        stack.drain().await;
        assert_eq!(stack.stored().await.len(), 30, "{fault:?}");
    }
}

#[tokio::test]
async fn two_deferred_attempts_that_are_drained_together_are_stored_once() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&batch_with_identifier(2), NOW).await;
    stack
        .send(&batch_with_identifier(2), NOW.plus(Duration::from_secs(1)))
        .await;
    stack.proxy.set(Plan::none());
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 2);
}

#[tokio::test]
async fn identifier_that_another_body_took_keeps_the_deferred_signals() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    let another_body = stack.send(&batch_with_identifier(1), later).await;
    assert_eq!(another_body.status, 200, "{another_body:?}");
    stack.drain().await;
    let times: Vec<_> = stack
        .stored()
        .await
        .iter()
        .map(|item| item["receivedAt"].as_s().unwrap().clone())
        .collect();
    assert_eq!(times, [NOW.to_string(), NOW.to_string(), later.to_string()]);
}

#[tokio::test]
async fn record_that_arrives_late_changes_no_key() {
    let stack = OverflowStack::start(Fault::Held.always().for_operation("PutItem")).await;
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    let retry = stack.send(&batch_with_identifier(2), later).await.json();
    assert_eq!(retry["replayed"], false, "there is no record yet");
    let applied = stack.proxy.apply_held().await.unwrap();
    assert!(applied > 0);
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 2);
}

#[tokio::test]
async fn retry_with_the_identifier_of_a_503_is_stored_once_through_the_queue() {
    let stack = OverflowStack::start(
        Fault::ResetBefore
            .where_body_has("\"29\"")
            .for_operation("BatchWriteItem"),
    )
    .await;
    stack.sqs.set_unavailable(true);
    let failed = stack.send(&json!({"signals": signals(30)}), NOW).await;
    assert_eq!(failed.status, 503);
    let identifier = failed.json()["requestIdentifier"].clone();
    stack.sqs.set_unavailable(false);
    stack.proxy.set(Fault::ResetAfter.always());
    let retry = json!({"requestIdentifier": identifier, "signals": signals(30)});
    stack
        .send_deferred(&retry, NOW.plus(Duration::from_secs(1)), 30)
        .await;
    stack.proxy.set(Plan::none());
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 30);
}

#[tokio::test]
async fn request_whose_record_is_unknown_gets_no_identifier_to_retry_with() {
    let stack = OverflowStack::start(Plan::none()).await;
    assert_not_deferred(&stack.send(&json!({"signals": signals(2)}), NOW).await);
    stack.proxy.set(Fault::ResetBefore.always());
    stack.sqs.set_unavailable(true);
    let response = stack.send(&batch_with_identifier(2), NOW).await;
    response.assert_problem(503, "storage-unavailable");
    let body = response.json();
    assert_eq!(body.get("requestIdentifier"), None, "{body}");
}
