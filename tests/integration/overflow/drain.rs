//! The drain of messages that fail, are throttled or refused, cannot be read, or contain rejected
//! signals.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use serde_json::{Value, json};
use service::telemetry::log::Log;
use store::rejected_signals::RETENTION;
use testkit::Tables;
use testkit::fault_proxy::{Fault, Plan};
use tokio::time::timeout;

use crate::support::clock::{NOW, later};
use crate::support::overflow_stack::{NO_MESSAGES, OverflowStack, named, signals};
use crate::support::requests::REQUEST_IDENTIFIER;

#[tokio::test]
async fn drain_that_fails_part_way_is_delivered_again_and_stores_once() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(60), NOW).await;
    let messages = stack.sqs.take_messages();
    assert_eq!(
        stack.undrained(&messages).await,
        messages,
        "DynamoDB is still unavailable"
    );
    stack
        .proxy
        .set(Fault::ResetBefore.always().for_operation("PutItem"));
    assert_eq!(
        stack.undrained(&messages).await,
        messages,
        "the record cannot be written"
    );
    assert_eq!(stack.stored().await.len(), 0);
    stack.proxy.set(
        Fault::InternalServerError
            .where_body_has("\"59\"")
            .for_operation("BatchWriteItem"),
    );
    assert_eq!(stack.undrained(&messages).await, messages);
    assert_eq!(stack.stored().await.len(), 50);
    stack.proxy.set(Plan::none());
    // SQS may deliver a message twice.
    let twice = [messages.clone(), messages].concat();
    stack.drain_messages(&twice).await;
    assert_eq!(stack.stored().await.len(), 60);
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

#[tokio::test]
async fn throttled_or_hanging_messages_neither_fail_nor_delay_the_others() {
    let faults_and_messages = [
        (Fault::UnprocessedWhere("hot-customer"), 1),
        (Fault::Throttled, 1),
        (Fault::Hanging, 9),
    ];
    join_all(faults_and_messages.map(async |(fault, hot_messages)| {
        let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
        for n in 0..10 {
            let customer = if n < hot_messages {
                "hot-customer".to_owned()
            } else {
                format!("c{n}")
            };
            let signal = json!({"customerId": customer, "eventType": "view"});
            stack
                .send_deferred(&json!({"signals": [signal, signal, signal]}), NOW, 3)
                .await;
        }
        let messages = stack.sqs.take_messages();
        stack.proxy.set(fault.where_body_has("hot-customer"));
        let mut drained_at = None;
        let drain = async {
            let failed = stack.undrained(&messages).await;
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
async fn signal_that_dynamodb_refuses_at_the_drain_is_kept_as_rejected() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(3), NOW).await;
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
        .where_body_has(Tables::name("RejectedSignalsTable"));
    stack.proxy.set(refused);
    let messages = stack.sqs.take_messages();
    stack.drain_messages(&messages).await;
    stack.assert_refused_dead_letter(&messages[0]);
    assert_eq!(stack.stored().await.len(), 1, "the valid signal is stored");
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
        stack.undrained(&unreadable).await,
        unreadable,
        "they are delivered again and not lost"
    );
}

#[tokio::test]
async fn delay_of_a_drain_counts_from_the_retry_that_queued_the_message() {
    let mut stack = OverflowStack::start(Plan::none()).await;
    let an_hour_before = NOW.minus(Duration::from_hours(1));
    let first = stack.send(&named(2), an_hour_before).await;
    assert_eq!(first.status, 200, "{first:?}");
    // The function cannot read the record of the first attempt.
    stack.proxy.set(Fault::ResetBefore.always());
    stack.send_deferred(&named(2), NOW, 2).await;
    stack.proxy.set(Plan::none());
    let (sender, lines) = mpsc::channel();
    stack.app.log = Log::new("local", move |line| sender.send(line.to_owned()).unwrap());
    stack.drain().await;
    let line: Value = serde_json::from_str(&lines.recv().unwrap()).unwrap();
    assert_eq!(line["message"], "drained", "{line}");
    assert_eq!(line["DrainDelay"], 60_000.0, "{line}");
    assert_eq!(line["receivedAt"], an_hour_before.to_string(), "{line}");
}
