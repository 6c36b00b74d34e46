//! Signals that DynamoDB does not acknowledge in time go to the overflow queue, and a drain stores
//! them (docs/reliability.md, Overflow).
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod customers;
mod drain;
mod newest;
mod patience;
mod processes;

use std::time::Duration;

use crate::support::clock::NOW;
use crate::support::overflow_stack::{NO_MESSAGES, OverflowStack, assert_stored, named, signals};
use crate::support::requests::REQUEST_IDENTIFIER;
use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, Plan};
use testkit::{Item, RequestBuilder};

/// The items that a request leaves when nothing fails.
async fn items_without_a_fault(body: &Value) -> Vec<Item> {
    let stack = OverflowStack::start(Plan::none()).await;
    let response = stack.send(body, NOW).await;
    assert_stored(&response);
    assert_eq!(stack.sqs.take_messages(), NO_MESSAGES);
    stack.stored().await
}

#[tokio::test]
async fn deferred_signals_become_the_items_that_the_request_would_have_written() {
    let expected = items_without_a_fault(&named(60)).await;
    for (fault, deferred) in [
        (
            Fault::Throttled.always().for_operation("BatchWriteItem"),
            60,
        ),
        (
            Fault::ResetBefore.always().for_operation("BatchWriteItem"),
            60,
        ),
        // The function does not know whether the record is written, so it writes nothing more.
        (
            Fault::InternalServerError.always().for_operation("PutItem"),
            60,
        ),
        (Fault::ResetAfter.always().for_operation("PutItem"), 60),
        // The first two batches are stored.
        (
            Fault::InternalServerError
                .where_body_has("\"59\"")
                .for_operation("BatchWriteItem"),
            10,
        ),
    ] {
        let stack = OverflowStack::start(fault.clone()).await;
        let response = stack.send(&named(60), NOW).await;
        assert_eq!(response.status, 200, "{fault:?}: {response:?}");
        let body = response.json();
        assert_eq!(body["accepted"], 60, "{fault:?}: {body}");
        assert_eq!(body["deferred"], deferred, "{fault:?}: {body}");
        assert_eq!(body["replayed"], false, "{fault:?}: {body}");
        assert_eq!(stack.stored().await.len(), 60 - deferred, "{fault:?}");
        stack.proxy.set(Plan::none());
        stack.drain().await;
        assert_eq!(stack.stored().await, expected, "{fault:?}");
    }
}

#[tokio::test]
async fn signals_without_an_identifier_are_deferred_without_a_record() {
    let stack = OverflowStack::start(
        Fault::TableThrottled
            .always()
            .for_operation("BatchWriteItem"),
    )
    .await;
    stack
        .send_deferred(&json!({"signals": signals(3)}), NOW, 3)
        .await;
    stack.proxy.set(Plan::none());
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 3);
    assert_eq!(stack.app.items("IdempotencyTable").await.len(), 0);
}

#[tokio::test]
async fn retry_before_the_drain_stores_its_signals_once() {
    for fault in [
        Fault::ResetBefore.always(),
        Fault::Throttled.always().for_operation("BatchWriteItem"),
    ] {
        let stack = OverflowStack::start(fault.clone()).await;
        stack.send_deferred(&named(30), NOW, 30).await;
        stack.proxy.set(Plan::none());
        let later = NOW.plus(Duration::from_secs(5));
        assert_stored(&stack.send(&named(30), later).await);
        stack.drain().await;
        assert_eq!(stack.stored().await.len(), 30, "{fault:?}");
    }
}

#[tokio::test]
async fn two_deferred_attempts_that_are_drained_together_are_stored_once() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(2), NOW).await;
    stack
        .send(&named(2), NOW.plus(Duration::from_secs(1)))
        .await;
    stack.proxy.set(Plan::none());
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 2);
}

#[tokio::test]
async fn identifier_that_another_body_took_keeps_the_deferred_signals() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send_deferred(&named(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    let another_body = stack.send(&named(1), later).await;
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
    stack.send_deferred(&named(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let later = NOW.plus(Duration::from_secs(1));
    let retry = stack.send(&named(2), later).await.json();
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
async fn answer_of_sqs_without_an_id_or_with_another_md5_acknowledges_nothing() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let customer =
        || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&stack.key);
    for answer in [
        json!({}),
        json!({"MessageId": "1"}),
        json!({"MessageId": "1", "MD5OfMessageBody": "00"}),
    ] {
        stack.sqs.answer_sends_with(Some(answer.clone()));
        let batch = stack.send(&json!({"signals": signals(1)}), NOW).await;
        assert_eq!(batch.status, 503, "{answer}");
        let update = stack.app.send(customer()).await;
        assert_eq!(update.status, 503, "{answer}");
    }
    stack.sqs.answer_sends_with(None);
    stack
        .send_deferred(&json!({"signals": signals(1)}), NOW, 1)
        .await;
}

#[tokio::test]
async fn rejected_signals_of_a_deferred_batch_are_reported_and_kept() {
    let stack = OverflowStack::start(
        Fault::Throttled
            .where_body_has("\"eventType\":{")
            .for_operation("BatchWriteItem"),
    )
    .await;
    let body = json!({"signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}]});
    let response = stack.send(&body, NOW).await;
    assert_eq!(response.status, 200, "{response:?}");
    let counts = response.json();
    assert_eq!(counts["received"], 2, "{counts}");
    assert_eq!(counts["accepted"], 1, "{counts}");
    assert_eq!(counts["rejected"], 1, "{counts}");
    assert_eq!(counts["deferred"], 1, "{counts}");
    assert_eq!(stack.app.items("RejectedSignalsTable").await.len(), 1);
}

#[tokio::test]
async fn message_has_its_account_as_its_group_and_an_unreadable_one_has_none() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(1), NOW).await;
    assert_eq!(stack.sqs.take_groups(), [Some("shop".to_owned())]);
    stack.undrained(&["unreadable".to_owned()]).await;
    assert_eq!(stack.sqs.take_groups(), [None]);
}

#[tokio::test]
async fn largest_batch_is_deferred_in_several_messages_and_stored_whole() {
    let body = largest_batch();
    let expected = items_without_a_fault(&body).await;
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack
        .send_deferred(&body, NOW, SIGNALS_OF_LARGEST_BATCH)
        .await;
    let messages = stack.sqs.take_messages();
    assert!(messages.len() >= 4, "{}", messages.len());
    stack.proxy.set(Plan::none());
    stack.drain_messages(&messages).await;
    let stored = stack.stored().await;
    // Without the items in the message, which are megabytes.
    assert_eq!(stored.len(), SIGNALS_OF_LARGEST_BATCH);
    assert!(stored == expected, "the items differ");
}

/// Enough for each to be smaller than the largest signal.
const SIGNALS_OF_LARGEST_BATCH: usize = 20;

/// A batch with the most bytes that a body may have.
fn largest_batch() -> Value {
    let batch = |bytes: usize, more: usize| {
        let signal = |n| {
            let more = if n == 0 { more } else { 0 };
            let text = "x".repeat(bytes + more);
            json!({"customerId": "c", "eventType": "e", "data": {"n": n, "text": text}})
        };
        let signals: Value = (0..SIGNALS_OF_LARGEST_BATCH).map(signal).collect();
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": signals})
    };
    let rest = MAX_BODY_BYTES - batch(0, 0).to_string().len();
    let bytes = rest / SIGNALS_OF_LARGEST_BATCH;
    let body = batch(bytes, rest % SIGNALS_OF_LARGEST_BATCH);
    assert_eq!(body.to_string().len(), MAX_BODY_BYTES);
    body
}
