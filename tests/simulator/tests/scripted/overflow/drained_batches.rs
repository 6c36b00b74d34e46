//! Batches of signals that are deferred, and what is stored of them once they are drained.

use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};
use simulator::aws::dynamodb::{IDEMPOTENCY, REJECTED_SIGNALS};
use simulator::aws::faults::Fault;

use crate::support::clock::NOW;
use crate::support::requests::{REQUEST_IDENTIFIER, batch_with_identifier, signals};
use crate::support::stack::{Item, Stack, assert_not_deferred, text};

/// The items that a request leaves when nothing fails.
async fn items_without_a_fault(body: &Value) -> Vec<Item> {
    let stack = Stack::start([]);
    assert_not_deferred(&stack.send(body, NOW).await);
    stack.stored()
}

#[tokio::test(start_paused = true)]
async fn deferred_signals_become_the_items_that_the_request_would_have_written() {
    let expected = items_without_a_fault(&batch_with_identifier(60)).await;
    for (fault, deferred) in [
        (
            Fault::Throttled.always().for_operation("BatchWriteItem"),
            60,
        ),
        (Fault::Lost.always().for_operation("BatchWriteItem"), 60),
        // The function does not know whether the record is written, so it writes nothing more.
        (Fault::ServerError.always().for_operation("PutItem"), 60),
        (Fault::ResponseLost.always().for_operation("PutItem"), 60),
        // The first two chunks are stored.
        (
            Fault::ServerError
                .where_body_has("\"59\"")
                .for_operation("BatchWriteItem"),
            10,
        ),
    ] {
        let stack = Stack::start([fault.clone()]);
        let response = stack.send(&batch_with_identifier(60), NOW).await;
        assert_eq!(response.status, 200, "{fault:?}: {response:?}");
        let body = response.json();
        assert_eq!(body["accepted"], 60, "{fault:?}: {body}");
        assert_eq!(body["deferred"], deferred, "{fault:?}: {body}");
        assert_eq!(body["replayed"], false, "{fault:?}: {body}");
        assert_eq!(stack.stored().len(), 60 - deferred, "{fault:?}");
        stack.set([]);
        stack.drain().await;
        assert_eq!(stack.stored(), expected, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn line_of_a_deferred_batch_says_why_dynamodb_did_not_store_it() {
    for (fault, operation, reason) in [
        (Fault::Throttled, "BatchWriteItem", "Throttled"),
        (Fault::ServerError, "PutItem", "ServerError"),
        (
            Fault::Refused("RequestTimeTooSkewed"),
            "PutItem",
            "ClockSkew",
        ),
        (Fault::Status(404), "PutItem", "HTTP 404"),
    ] {
        let stack = Stack::start([fault.always().for_operation(operation)]);
        stack.send_deferred(&batch_with_identifier(1), NOW, 1).await;
        let line = &stack.take_lines()[0];
        assert_eq!(line["SignalsDeferred"], 1, "{line}");
        assert_eq!(line["storeError"], reason, "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn signals_without_an_identifier_are_deferred_without_a_record() {
    let stack = Stack::start([Fault::Refused("ThrottlingException")
        .always()
        .for_operation("BatchWriteItem")]);
    stack
        .send_deferred(&json!({"signals": signals(3)}), NOW, 3)
        .await;
    stack.set([]);
    stack.drain().await;
    assert_eq!(stack.stored().len(), 3);
    assert_eq!(stack.items(IDEMPOTENCY).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn largest_batch_is_deferred_in_several_messages_and_stored_whole() {
    let body = largest_batch();
    let expected = items_without_a_fault(&body).await;
    let stack = Stack::start([Fault::Lost.always()]);
    stack
        .send_deferred(&body, NOW, SIGNALS_OF_LARGEST_BATCH)
        .await;
    let messages = stack.take_messages();
    assert_eq!(messages.len(), 5);
    stack.set([]);
    stack.drain_messages(&messages).await;
    let stored = stack.stored();
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

#[tokio::test(start_paused = true)]
async fn queued_signals_that_break_rules_of_this_version_are_stored_as_they_were_accepted() {
    let stack = Stack::start([Fault::Lost.always()]);
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [
        {"customerId": "earlier", "eventType": "view"},
        {"emitterId": "e", "stepNodeId": "earlier", "eventflowIdentifier": REQUEST_IDENTIFIER},
    ]});
    stack.send_deferred(&body, NOW, 2).await;
    stack.set([]);
    let nil = "00000000-0000-0000-0000-000000000000";
    let earlier = |message: String| {
        message
            .replacen("earlier", "<nil>", 1)
            .replacen("view", &"x".repeat(300), 1)
            .replacen("earlier", "\u{200b}", 1)
            .replace(REQUEST_IDENTIFIER, nil)
    };
    let messages: Vec<_> = stack.take_messages().into_iter().map(earlier).collect();
    stack.drain_messages(&messages).await;
    assert_eq!(stack.items(REJECTED_SIGNALS), Vec::<Item>::new());
    assert_eq!(stack.stored().len(), 2);
    let is_of_nil = |item: &&Item| text(item, "pk") == Some("shop#<nil>");
    assert_eq!(stack.stored().iter().filter(is_of_nil).count(), 1);
}
