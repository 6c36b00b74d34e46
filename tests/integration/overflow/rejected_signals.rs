//! Rejected signals of batches that are deferred or drained: the table of rejected signals has them
//! in the end.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use store::rejected_signals::RETENTION;
use testkit::fault_proxy::{Fault, Plan};
use testkit::table_name;

use crate::support::clock::{NOW, later};
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::{REQUEST_IDENTIFIER, batch_with_identifier};

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
async fn rejected_signals_that_are_not_acknowledged_are_queued() {
    let valid = json!({"customerId": "c", "eventType": "view"});
    for body in [
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [valid, 17]}),
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [17]}),
    ] {
        let plan = Fault::InternalServerError
            .always()
            .where_body_has(table_name("RejectedSignalsTable"));
        let stack = OverflowStack::start(plan).await;
        let response = stack.send(&body, NOW).await.json();
        assert_eq!(response.get("deferred"), None, "{response}");
        assert_eq!(response["rejected"], 1, "{response}");
        assert_eq!(stack.app.items("RejectedSignalsTable").await, []);
        stack.proxy.set(Plan::none());
        stack.drain().await;
        let rejected = stack.app.items("RejectedSignalsTable").await;
        assert_eq!(rejected.len(), 1, "{body}");
        let valid_signals = body["signals"].as_array().unwrap().len() - 1;
        assert_eq!(stack.stored().await.len(), valid_signals, "{body}");
        assert_eq!(
            stack.app.items("IdempotencyTable").await.len(),
            valid_signals,
            "{body}"
        );
    }
}

#[tokio::test]
async fn rejected_signals_of_a_deferred_batch_are_kept_at_the_drain() {
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}, 17]});
    let without_fault = OverflowStack::start(Plan::none()).await;
    without_fault.send(&body, NOW).await;
    let mut expected = without_fault.app.items("RejectedSignalsTable").await;
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let response = stack.send(&body, NOW).await;
    assert_eq!(response.status, 200, "{response:?}");
    let counts = response.json();
    assert_eq!(counts["rejected"], 2, "{counts}");
    assert_eq!(counts["deferred"], 1, "{counts}");
    stack.proxy.set(Plan::none());
    stack.drain().await;
    let expires_at = later(60).plus(Duration::from_hours(14 * 24)).seconds();
    let expires_at = AttributeValue::N(expires_at.to_string());
    for item in &mut expected {
        item.insert("expiresAt".to_owned(), expires_at.clone());
    }
    assert_eq!(stack.app.items("RejectedSignalsTable").await, expected);
    assert_eq!(stack.stored().await.len(), 1);
}

/// One attempt meets a throttled table of the idempotency records, the other one is before or after
/// it, and midnight is between them.
#[tokio::test]
async fn rejected_signal_of_two_attempts_on_two_days_is_kept_once() {
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [{"customerId": "c", "eventType": "e"}, 17]});
    let next_day = NOW.plus(Duration::from_hours(2));
    assert_ne!(NOW.day(), next_day.day());
    for throttled_attempt in [0, 1] {
        let stack = OverflowStack::start(Plan::none()).await;
        for (attempt, at) in [NOW, next_day].into_iter().enumerate() {
            let is_throttled = attempt == throttled_attempt;
            if is_throttled {
                let throttled = Fault::Throttled.where_body_has(table_name("IdempotencyTable"));
                stack.proxy.set(throttled);
            }
            let response = stack.send(&body, at).await.json();
            let deferred = if is_throttled { json!(1) } else { json!(null) };
            assert_eq!(response["deferred"], deferred, "{response}");
            stack.proxy.set(Plan::none());
        }
        stack.drain().await;
        assert_eq!(stack.stored().await.len(), 1);
        let rejected = stack.app.items("RejectedSignalsTable").await;
        assert_eq!(
            rejected.len(),
            1,
            "attempt {throttled_attempt} was throttled"
        );
    }
}

#[tokio::test]
async fn rejected_signals_of_which_dynamodb_takes_a_part_in_5_s_are_kept_in_one_invocation() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let mut sent = vec![json!(17); 499];
    sent.push(json!({"customerId": "c", "eventType": "e"}));
    stack.send(&json!({"signals": sent}), NOW).await;
    let slow = Fault::Slow(Duration::from_millis(700)).always();
    stack.proxy.set(slow.for_operation("BatchWriteItem"));
    stack.drain().await;
    assert_eq!(stack.app.items("RejectedSignalsTable").await.len(), 499);
    assert_eq!(stack.stored().await.len(), 1);
}

#[tokio::test]
async fn signal_that_dynamodb_refuses_at_the_drain_is_kept_as_rejected() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&batch_with_identifier(3), NOW).await;
    let second_signal = "\"data\":{\"M\":{\"n\":{\"N\":\"1\"}";
    let refused = Fault::Invalid.where_body_has(second_signal);
    stack.proxy.set(Plan::new([
        refused.clone().for_operation("BatchWriteItem"),
        refused.for_operation("PutItem"),
    ]));
    stack.drain().await;
    assert_eq!(stack.stored().await.len(), 2);
    let rejected = stack.app.items("RejectedSignalsTable").await;
    assert_eq!(rejected.len(), 1);
    let rejected = &rejected[0];
    assert_eq!(rejected["index"].as_n().unwrap(), "1");
    assert_eq!(rejected["keyId"].as_s().unwrap(), "key_of_shop");
    // However long the message waited, the operator has the whole retention from the drain on.
    let expires_at = later(60).plus(RETENTION).seconds();
    assert_eq!(
        rejected["expiresAt"].as_n().unwrap(),
        &expires_at.to_string()
    );
}

#[tokio::test]
async fn rejected_signal_that_dynamodb_refuses_at_the_drain_becomes_a_dead_letter_with_its_reason()
{
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let body = json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]});
    stack.send(&body, NOW).await;
    let refused = Fault::Invalid
        .always()
        .where_body_has(table_name("RejectedSignalsTable"));
    stack.proxy.set(refused);
    let messages = stack.sqs.take_messages();
    stack.drain_messages(&messages).await;
    stack.assert_refused_dead_letter(&messages[0]);
    assert_eq!(stack.stored().await.len(), 1, "the valid signal is stored");
}

#[tokio::test]
async fn largest_message_becomes_a_dead_letter_with_its_reason() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    let batch = |padding: usize| {
        let longest = json!({"customerId": "c", "padding": "x".repeat(260_000)});
        let last = json!({"customerId": "c", "padding": "x".repeat(padding)});
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [longest, longest, longest, last]})
    };
    stack.send(&batch(1), NOW).await;
    let shorter = stack.sqs.take_messages();
    let largest_message = 1024 * 1024 - 1;
    stack
        .send(&batch(largest_message - shorter[0].len()), NOW)
        .await;
    let messages = stack.sqs.take_messages();
    let bytes: usize = messages.iter().map(String::len).sum();
    assert!(bytes >= largest_message - 10, "{bytes}");
    let refused = Fault::Invalid
        .always()
        .where_body_has(table_name("RejectedSignalsTable"));
    stack.proxy.set(refused);
    stack.drain_messages(&messages).await;
    assert_eq!(stack.sqs.take_dead_letters().len(), messages.len());
}
