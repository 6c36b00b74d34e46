//! The drain of messages that fail, are throttled or cannot be read.

use std::time::Duration;

use serde_json::json;
use simulator::aws::dynamodb::{IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS};
use simulator::aws::faults::{Fault, Target};
use tokio::time::sleep;

use crate::support::clock::NOW;
use crate::support::requests::{batch_with_identifier, signals};
use crate::support::stack::{Item, NO_MESSAGES, Stack, slow};

#[tokio::test(start_paused = true)]
async fn drain_that_fails_part_way_is_delivered_again_and_stores_once() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(60), NOW).await;
    let messages = stack.take_messages();
    assert_eq!(
        stack.drain_and_return_failed(&messages).await,
        messages,
        "DynamoDB is still unavailable"
    );
    stack.set([Fault::Lost.always().for_operation("PutItem")]);
    assert_eq!(
        stack.drain_and_return_failed(&messages).await,
        messages,
        "the record cannot be written"
    );
    assert_eq!(stack.stored().len(), 0);
    let last_chunk = Fault::ServerError.where_body_has("\"59\"");
    stack.set([last_chunk.for_operation("BatchWriteItem")]);
    assert_eq!(stack.drain_and_return_failed(&messages).await, messages);
    assert_eq!(stack.stored().len(), 50);
    stack.set([]);
    // SQS may deliver a message twice.
    let twice = [messages.clone(), messages].concat();
    stack.drain_messages(&twice).await;
    assert_eq!(stack.stored().len(), 60);
}

/// Another process gets new credentials.
#[tokio::test(start_paused = true)]
async fn process_ends_after_a_drain_whose_credentials_are_refused_and_the_message_is_delivered_again()
 {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(1), NOW).await;
    let messages = stack.take_messages();
    stack.set([Fault::Refused("ExpiredTokenException").always()]);
    let drained = stack.invoke_overflow(&messages, NOW).await;
    assert!(drained.are_credentials_refused);
    assert_eq!(drained.response.batch_item_failures.len(), 1);
    stack.set([]);
    let drained = stack.invoke_overflow(&messages, NOW).await;
    assert!(!drained.are_credentials_refused);
    assert_eq!(stack.stored().len(), 1);
}

/// Defers ten batches of three signals, the first ones of the hot customer. Returns a message for
/// each.
async fn defer_ten_batches(stack: &Stack, hot_messages: usize) -> Vec<String> {
    for n in 0..10 {
        let customer = if n < hot_messages {
            "hot-customer".to_owned()
        } else {
            format!("c{n}")
        };
        let signal = json!({"customerId": customer, "eventType": "view"});
        let batch = json!({"signals": [signal, signal, signal]});
        stack.send_deferred(&batch, NOW, 3).await;
    }
    stack.take_messages()
}

#[tokio::test(start_paused = true)]
async fn throttled_or_hanging_messages_neither_fail_nor_delay_the_others() {
    for (fault, hot_messages) in [
        (Fault::Hot("hot-customer"), 1),
        (Fault::Throttled, 1),
        (Fault::Hangs, 9),
    ] {
        let stack = Stack::start([Fault::Lost.always()]);
        let messages = defer_ten_batches(&stack, hot_messages).await;
        stack.set([fault.clone().where_body_has("hot-customer")]);
        let others_are_stored = async {
            sleep(Duration::from_millis(100)).await;
            assert_eq!(stack.stored().len(), 3 * (10 - hot_messages));
        };
        let drain = stack.timed(stack.drain_and_return_failed(&messages));
        let ((failed, took), ()) = tokio::join!(drain, others_are_stored);
        assert_eq!(failed, messages[..hot_messages]);
        // The drain waits so long for writes without progress.
        let expected = Duration::from_millis(4_800)..=Duration::from_secs(5);
        assert!(expected.contains(&took), "{fault:?}: {took:?}");
        stack.set([]);
        stack.drain_messages(&failed).await;
        assert_eq!(stack.stored().len(), 30);
    }
}

#[tokio::test(start_paused = true)]
async fn large_message_of_which_dynamodb_takes_a_part_in_5_s_is_drained_in_one_invocation() {
    let stack = Stack::start([Fault::Lost.always()]);
    let batch = json!({"signals": signals(500)});
    stack.send_deferred(&batch, NOW, 500).await;
    stack.set([slow(700).always().for_operation("BatchWriteItem")]);
    let ((), took) = stack.timed(stack.drain()).await;
    // Twenty calls of 25 signals, two at the same time, and a wait after the first five seconds.
    let longest = Duration::from_millis(10 * 701 + 200);
    assert!(
        (10 * Duration::from_millis(701)..longest).contains(&took),
        "{took:?}"
    );
    assert_eq!(stack.stored().len(), 500);
}

#[tokio::test(start_paused = true)]
async fn message_that_cannot_be_read_goes_to_the_dead_letter_queue_at_once() {
    let stack = Stack::start([]);
    let message = stack
        .defer_update(json!({"city": "Ulm"}), NOW)
        .await
        .remove(0);
    let without_kind = message.replacen("\"kind\":\"update\",", "", 1);
    assert_ne!(without_kind, message);
    let others = ["", "not JSON", "{}", r#"{"accountId":"a b"}"#].map(ToOwned::to_owned);
    let unreadable = [others.as_slice(), &[without_kind]].concat();
    stack.drain_messages(&unreadable).await;
    let dead_letters = stack.take_dead_letters();
    let reasons = dead_letters.iter().map(|letter| letter.reason.as_deref());
    assert!(
        reasons.eq([Some("UnreadableMessage"); 5]),
        "{dead_letters:?}"
    );
    let bodies: Vec<_> = dead_letters.into_iter().map(|letter| letter.body).collect();
    assert_eq!(bodies, unreadable);
    assert_eq!(stack.take_messages(), NO_MESSAGES);
    stack.set([Fault::ServerError.always().on(Target::Sqs)]);
    assert_eq!(
        stack.drain_and_return_failed(&unreadable).await,
        unreadable,
        "they are delivered again and not lost"
    );
}

/// It has the form of a message, and a signal that no function has ever accepted.
#[tokio::test(start_paused = true)]
async fn message_with_a_signal_of_no_rules_becomes_a_dead_letter_and_stores_nothing() {
    let stack = Stack::start([Fault::Lost.always()]);
    stack.send(&batch_with_identifier(2), NOW).await;
    stack.set([]);
    let foreign: Vec<_> = stack
        .take_messages()
        .iter()
        .map(|message| message.replacen("eventType", "eventTypo", 1))
        .collect();
    stack.drain_messages(&foreign).await;
    let dead_letters = stack.take_dead_letters();
    assert_eq!(dead_letters.len(), 1, "{dead_letters:?}");
    assert_eq!(dead_letters[0].body, foreign[0]);
    let reason = dead_letters[0].reason.as_deref();
    assert_eq!(reason, Some("UnreadableMessage"));
    for table in [IDEMPOTENCY, SIGNALS, REJECTED_SIGNALS] {
        assert_eq!(stack.items(table), Vec::<Item>::new(), "{table}");
    }
}

#[tokio::test(start_paused = true)]
async fn delay_of_a_drain_counts_from_the_retry_that_queued_the_message() {
    let stack = Stack::start([]);
    let an_hour_before = NOW.minus(Duration::from_hours(1));
    let first = stack.send(&batch_with_identifier(2), an_hour_before).await;
    assert_eq!(first.status, 200, "{first:?}");
    // The function cannot read the record of the first attempt.
    stack.set([Fault::Lost.always()]);
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.set([]);
    stack.take_lines();
    stack.drain().await;
    let line = &stack.take_lines()[0];
    assert_eq!(line["message"], "drained", "{line}");
    assert_eq!(line["DrainDelay"], 60_000.0, "{line}");
    assert_eq!(line["receivedAt"], an_hour_before.to_string(), "{line}");
}
