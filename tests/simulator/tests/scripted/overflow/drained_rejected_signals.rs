//! Rejected signals of batches that are deferred or drained: the table of rejected signals has them
//! in the end.

use std::time::Duration;

use serde_json::json;
use simulator::aws::dynamodb::{IDEMPOTENCY, REJECTED_SIGNALS};
use simulator::aws::faults::Fault;
use store::rejected_signals::RETENTION;

use crate::support::clock::{NOW, later};
use crate::support::requests::{REQUEST_IDENTIFIER, batch_with_identifier};
use crate::support::stack::{INVALID, Item, Stack, number, slow, text};

#[tokio::test(start_paused = true)]
async fn rejected_signals_of_a_deferred_batch_are_reported_and_kept() {
    let stack = Stack::start([Fault::Throttled
        .where_body_has("\"eventType\":{")
        .for_operation("BatchWriteItem")]);
    let body = json!({"signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}]});
    let response = stack.send(&body, NOW).await;
    assert_eq!(response.status, 200, "{response:?}");
    let counts = response.json();
    assert_eq!(counts["received"], 2, "{counts}");
    assert_eq!(counts["accepted"], 1, "{counts}");
    assert_eq!(counts["rejected"], 1, "{counts}");
    assert_eq!(counts["deferred"], 1, "{counts}");
    assert_eq!(stack.items(REJECTED_SIGNALS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn rejected_signals_that_are_not_acknowledged_are_queued() {
    let valid = json!({"customerId": "c", "eventType": "view"});
    for body in [
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [valid, 17]}),
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [17]}),
    ] {
        let plan = Fault::ServerError.where_body_has(REJECTED_SIGNALS);
        let stack = Stack::start([plan]);
        let response = stack.send(&body, NOW).await.json();
        assert_eq!(response.get("deferred"), None, "{response}");
        assert_eq!(response["rejected"], 1, "{response}");
        assert_eq!(stack.items(REJECTED_SIGNALS), Vec::<Item>::new());
        stack.set([]);
        stack.drain().await;
        let rejected = stack.items(REJECTED_SIGNALS);
        assert_eq!(rejected.len(), 1, "{body}");
        let valid_signals = body["signals"].as_array().unwrap().len() - 1;
        assert_eq!(stack.stored().len(), valid_signals, "{body}");
        assert_eq!(stack.items(IDEMPOTENCY).len(), valid_signals, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_signals_of_a_deferred_batch_are_kept_at_the_drain() {
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}, 17]});
    let without_fault = Stack::start([]);
    without_fault.send(&body, NOW).await;
    let mut expected = without_fault.items(REJECTED_SIGNALS);
    let stack = Stack::start([Fault::Lost.always()]);
    let response = stack.send(&body, NOW).await;
    assert_eq!(response.status, 200, "{response:?}");
    let counts = response.json();
    assert_eq!(counts["rejected"], 2, "{counts}");
    assert_eq!(counts["deferred"], 1, "{counts}");
    stack.set([]);
    stack.drain().await;
    let expires_at = later(60).plus(Duration::from_hours(14 * 24)).seconds();
    let expires_at = json!({"N": expires_at.to_string()});
    for item in &mut expected {
        item.insert("expiresAt".to_owned(), expires_at.clone());
    }
    assert_eq!(stack.items(REJECTED_SIGNALS), expected);
    assert_eq!(stack.stored().len(), 1);
}

/// One attempt meets a throttled table of the idempotency records, the other one is before or after
/// it, and midnight is between them.
#[tokio::test(start_paused = true)]
async fn rejected_signal_of_two_attempts_on_two_days_is_kept_once() {
    let body = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [{"customerId": "c", "eventType": "e"}, 17]});
    let next_day = NOW.plus(Duration::from_hours(2));
    assert_ne!(NOW.day(), next_day.day());
    for throttled_attempt in [0, 1] {
        let stack = Stack::start([]);
        for (attempt, at) in [NOW, next_day].into_iter().enumerate() {
            let is_throttled = attempt == throttled_attempt;
            if is_throttled {
                stack.set([Fault::Throttled.where_body_has(IDEMPOTENCY)]);
            }
            let response = stack.send(&body, at).await.json();
            let deferred = if is_throttled { json!(1) } else { json!(null) };
            assert_eq!(response["deferred"], deferred, "{response}");
            stack.set([]);
        }
        stack.drain().await;
        assert_eq!(stack.stored().len(), 1);
        let rejected = stack.items(REJECTED_SIGNALS);
        assert_eq!(
            rejected.len(),
            1,
            "attempt {throttled_attempt} was throttled"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_signals_of_which_dynamodb_takes_a_part_in_5_s_are_kept_in_one_invocation() {
    let stack = Stack::start([Fault::Lost.always()]);
    let mut sent = vec![json!(17); 499];
    sent.push(json!({"customerId": "c", "eventType": "e"}));
    stack.send(&json!({"signals": sent}), NOW).await;
    let slow = slow(700).always();
    stack.set([slow.for_operation("BatchWriteItem")]);
    stack.drain().await;
    assert_eq!(stack.items(REJECTED_SIGNALS).len(), 499);
    assert_eq!(stack.stored().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn signal_that_dynamodb_refuses_at_the_drain_is_kept_as_rejected() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(3), NOW).await;
    let second_signal = "\"data\":{\"M\":{\"n\":{\"N\":\"1\"}";
    let refused = INVALID.where_body_has(second_signal);
    stack.set([
        refused.clone().for_operation("BatchWriteItem"),
        refused.for_operation("PutItem"),
    ]);
    stack.drain().await;
    assert_eq!(stack.stored().len(), 2);
    let rejected = stack.items(REJECTED_SIGNALS);
    assert_eq!(rejected.len(), 1);
    let rejected = &rejected[0];
    assert_eq!(number(rejected, "index"), "1");
    assert_eq!(text(rejected, "keyId"), Some("key_of_shop"));
    // However long the message waited, the operator has the whole retention from the drain on.
    let expires_at = later(60).plus(RETENTION).seconds();
    assert_eq!(number(rejected, "expiresAt"), expires_at.to_string());
}

#[tokio::test(start_paused = true)]
async fn rejected_signal_that_dynamodb_refuses_at_the_drain_becomes_a_dead_letter_with_its_reason()
{
    let stack = Stack::start([Fault::Lost.always()]);
    let body = json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]});
    stack.send(&body, NOW).await;
    let refused = INVALID.where_body_has(REJECTED_SIGNALS);
    stack.set([refused]);
    let messages = stack.take_messages();
    stack.drain_messages(&messages).await;
    stack.assert_refused_dead_letter(&messages[0]);
    assert_eq!(stack.stored().len(), 1, "the valid signal is stored");
}

#[tokio::test(start_paused = true)]
async fn largest_message_becomes_a_dead_letter_with_its_reason() {
    let stack = Stack::start([Fault::Lost.always()]);
    let batch = |padding: usize| {
        let longest = json!({"customerId": "c", "padding": "x".repeat(260_000)});
        let last = json!({"customerId": "c", "padding": "x".repeat(padding)});
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [longest, longest, longest, last]})
    };
    stack.send(&batch(1), NOW).await;
    let shorter = stack.take_messages();
    let largest_message = 1024 * 1024 - 1;
    stack
        .send(&batch(largest_message - shorter[0].len()), NOW)
        .await;
    let messages = stack.take_messages();
    let bytes: usize = messages.iter().map(String::len).sum();
    assert!(bytes >= largest_message - 10, "{bytes}");
    let refused = INVALID.where_body_has(REJECTED_SIGNALS);
    stack.set([refused]);
    stack.drain_messages(&messages).await;
    assert_eq!(stack.take_dead_letters().len(), messages.len());
}
