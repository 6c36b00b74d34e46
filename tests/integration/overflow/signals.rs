//! Batches of signals that are deferred, and what is stored of them once they are drained.

use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, Plan};
use testkit::{Item, RequestBuilder, TestApp};

use crate::support::clock::NOW;
use crate::support::overflow_stack::{
    OverflowStack, RETENTION, assert_not_deferred, stored_signals,
};
use crate::support::requests::{REQUEST_IDENTIFIER, batch_with_identifier, signals};

/// The items that a request leaves when nothing fails. The app has no queue, so that it has the
/// longer write timeout: a busy machine takes long for the largest batch.
async fn items_without_a_fault(body: &Value) -> Vec<Item> {
    let emulator = TestApp::emulator();
    let endpoint = emulator.endpoint();
    let app = TestApp::with_dynamodb(emulator, &endpoint, &endpoint, Some(RETENTION));
    let key = app.key("shop").await;
    let request = RequestBuilder::signals(body).key(&key).received_at(NOW);
    assert_not_deferred(&app.send(request).await);
    stored_signals(&app).await
}

#[tokio::test]
async fn deferred_signals_become_the_items_that_the_request_would_have_written() {
    let expected = items_without_a_fault(&batch_with_identifier(60)).await;
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
        // The first two chunks are stored.
        (
            Fault::InternalServerError
                .where_body_has("\"59\"")
                .for_operation("BatchWriteItem"),
            10,
        ),
    ] {
        let stack = OverflowStack::start(fault.clone()).await;
        let response = stack.send(&batch_with_identifier(60), NOW).await;
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
async fn throttled_customer_defers_nothing_of_another() {
    let throttled = Fault::Throttled.where_body_has("hot-customer");
    let stack = OverflowStack::start(throttled.for_operation("BatchWriteItem")).await;
    let batch_of_hot_customer =
        json!({"signals": [{"customerId": "hot-customer", "eventType": "view"}]});
    for _ in 0..2 {
        stack.send_deferred(&batch_of_hot_customer, NOW, 1).await;
        assert_not_deferred(&stack.send(&json!({"signals": signals(1)}), NOW).await);
    }
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

#[tokio::test]
async fn queued_signals_with_identifiers_that_an_earlier_version_accepted_are_stored() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [
        {"customerId": "earlier", "eventType": "view"},
        {"emitterId": "e", "stepNodeId": "earlier", "eventflowIdentifier": REQUEST_IDENTIFIER},
    ]});
    stack.send_deferred(&body, NOW, 2).await;
    stack.proxy.set(Plan::none());
    let nil = "00000000-0000-0000-0000-000000000000";
    let earlier = |message: String| {
        message
            .replacen("earlier", "<nil>", 1)
            .replacen("earlier", "\u{200b}", 1)
            .replace(REQUEST_IDENTIFIER, nil)
    };
    let messages: Vec<_> = stack.sqs.take_messages().into_iter().map(earlier).collect();
    stack.drain_messages(&messages).await;
    assert_eq!(stack.app.items("RejectedSignalsTable").await, []);
    assert_eq!(stack.stored().await.len(), 2);
    assert_eq!(stack.app.history("shop", "<nil>").await.len(), 1);
}
