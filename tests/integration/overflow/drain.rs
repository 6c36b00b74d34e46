//! The drain of messages that fail, are throttled or cannot be read.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use service::telemetry::log::Log;
use testkit::fault_proxy::{Fault, Plan};
use tokio::time::timeout;

use crate::support::clock::NOW;
use crate::support::overflow_stack::{NO_MESSAGES, OverflowStack};
use crate::support::requests::{batch_with_identifier, signals};

#[tokio::test]
async fn drain_that_fails_part_way_is_delivered_again_and_stores_once() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&batch_with_identifier(60), NOW).await;
    let messages = stack.sqs.take_messages();
    assert_eq!(
        stack.drain_and_return_failed(&messages).await,
        messages,
        "DynamoDB is still unavailable"
    );
    stack
        .proxy
        .set(Fault::ResetBefore.always().for_operation("PutItem"));
    assert_eq!(
        stack.drain_and_return_failed(&messages).await,
        messages,
        "the record cannot be written"
    );
    assert_eq!(stack.stored().await.len(), 0);
    stack.proxy.set(
        Fault::InternalServerError
            .where_body_has("\"59\"")
            .for_operation("BatchWriteItem"),
    );
    assert_eq!(stack.drain_and_return_failed(&messages).await, messages);
    assert_eq!(stack.stored().await.len(), 50);
    stack.proxy.set(Plan::none());
    // SQS may deliver a message twice.
    let twice = [messages.clone(), messages].concat();
    stack.drain_messages(&twice).await;
    assert_eq!(stack.stored().await.len(), 60);
}

/// Defers ten batches of three signals, the first ones of the hot customer. Returns a message for
/// each.
async fn defer_ten_batches(stack: &OverflowStack, hot_messages: usize) -> Vec<String> {
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
    stack.sqs.take_messages()
}

#[tokio::test]
async fn throttled_or_hanging_messages_neither_fail_nor_delay_the_others() {
    let faults_and_messages = [
        (Fault::UnprocessedWhere("hot-customer"), 1),
        (Fault::Throttled, 1),
        (Fault::Hanging, 9),
    ];
    join_all(faults_and_messages.map(async |(fault, hot_messages)| {
        let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
        let messages = defer_ten_batches(&stack, hot_messages).await;
        stack.proxy.set(fault.where_body_has("hot-customer"));
        let mut drained_at = None;
        let drain = async {
            let failed = stack.drain_and_return_failed(&messages).await;
            drained_at = Some(Instant::now());
            failed
        };
        let mut stored_at = None;
        let others_are_stored = async {
            while stack.stored().await.len() < 3 * (10 - hot_messages) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            stored_at = Some(Instant::now());
        };
        let others_are_stored = timeout(Duration::from_mins(1), others_are_stored);
        let began = Instant::now();
        let (failed, in_time) = tokio::join!(drain, others_are_stored);
        let took = began.elapsed();
        in_time.expect("the other messages are stored");
        assert_eq!(failed, messages[..hot_messages]);
        assert!(stored_at < drained_at, "the others waited");
        assert!(took < Duration::from_secs(20), "{took:?}");
        stack.proxy.set(Plan::none());
        stack.drain_messages(&failed).await;
        assert_eq!(stack.stored().await.len(), 30);
    }))
    .await;
}

#[tokio::test]
async fn large_message_of_which_dynamodb_takes_a_part_in_5_s_is_drained_in_one_invocation() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack
        .send_deferred(&json!({"signals": signals(500)}), NOW, 500)
        .await;
    stack.proxy.set(
        Fault::Slow(Duration::from_millis(700))
            .always()
            .for_operation("BatchWriteItem"),
    );
    let began = Instant::now();
    stack.drain().await;
    assert!(
        began.elapsed() > Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(stack.stored().await.len(), 500);
}

#[tokio::test]
async fn message_that_cannot_be_read_goes_to_the_dead_letter_queue_at_once() {
    let stack = OverflowStack::start(Plan::none()).await;
    let unreadable = ["", "not JSON", "{}", r#"{"accountId":"a b"}"#].map(ToOwned::to_owned);
    stack.drain_messages(&unreadable).await;
    let dead_letters = stack.sqs.take_dead_letters();
    let bodies: Vec<_> = dead_letters.into_iter().map(|letter| letter.body).collect();
    assert_eq!(bodies, unreadable);
    assert_eq!(stack.sqs.take_messages(), NO_MESSAGES);
    stack.sqs.set_unavailable(true);
    assert_eq!(
        stack.drain_and_return_failed(&unreadable).await,
        unreadable,
        "they are delivered again and not lost"
    );
}

#[tokio::test]
async fn delay_of_a_drain_counts_from_the_retry_that_queued_the_message() {
    let mut stack = OverflowStack::start(Plan::none()).await;
    let an_hour_before = NOW.minus(Duration::from_hours(1));
    let first = stack.send(&batch_with_identifier(2), an_hour_before).await;
    assert_eq!(first.status, 200, "{first:?}");
    // The function cannot read the record of the first attempt.
    stack.proxy.set(Fault::ResetBefore.always());
    stack.send_deferred(&batch_with_identifier(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let (sender, lines) = mpsc::channel();
    stack.app.log = Log::new("local", move |line| sender.send(line.to_owned()).unwrap());
    stack.drain().await;
    let line: Value = serde_json::from_str(&lines.recv().unwrap()).unwrap();
    assert_eq!(line["message"], "drained", "{line}");
    assert_eq!(line["DrainDelay"], 60_000.0, "{line}");
    assert_eq!(line["receivedAt"], an_hour_before.to_string(), "{line}");
}
