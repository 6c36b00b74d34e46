//! Draining: messages that fail, that are throttled, that are refused or cannot be read, and what
//! they have of rejected signals.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use serde_json::json;
use store::rejected_signals::RETENTION;
use testkit::fault_proxy::{Fault, Plan};
use tokio::time::timeout;

use super::{DRAINED_AT, NOW, REQUEST, Stack, named, signals};

#[tokio::test]
async fn drain_that_fails_part_way_is_delivered_again_and_stores_once() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(60), NOW).await;
    let messages = stack.sqs.take_messages();
    assert_eq!(
        stack.drain_all(&messages).await,
        messages,
        "DynamoDB is still away"
    );
    stack.proxy.set(Fault::ResetBefore.always().of("PutItem"));
    assert_eq!(
        (stack.drain_all(&messages).await, stack.stored().await.len()),
        (messages.clone(), 0),
        "no record"
    );
    stack.proxy.set(
        Fault::InternalServerError
            .where_body_has("\"59\"")
            .of("BatchWriteItem"),
    );
    assert_eq!(stack.drain_all(&messages).await, messages);
    assert_eq!(stack.stored().await.len(), 50);
    stack.proxy.set(Plan::none());
    // SQS may deliver a message twice.
    let twice = [messages.clone(), messages].concat();
    assert_eq!(stack.drain_all(&twice).await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 60);
}

#[tokio::test]
async fn rejected_signals_of_a_deferred_batch_are_kept_at_the_drain() {
    let body = json!({"requestIdentifier": REQUEST, "signals": [{"customerId": "c", "eventType": "e"}, {"customerId": "c"}, 17]});
    let mut expected = {
        let stack = Stack::start(Plan::none()).await;
        stack.send(&body, NOW).await;
        stack.app.items("RejectedSignalsTable").await
    };
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    let (status, response) = stack.send(&body, NOW).await;
    assert_eq!(
        (status, &response["rejected"], &response["deferred"]),
        (200, &json!(2), &json!(1)),
        "{response}"
    );
    stack.proxy.set(Plan::none());
    assert_eq!(stack.drain().await, [""; 0]);
    let drained = NOW.plus(Duration::from_mins(1));
    for item in &mut expected {
        let end = drained.plus(Duration::from_hours(14 * 24)).seconds();
        item.insert("expiresAt".to_owned(), AttributeValue::N(end.to_string()));
    }
    assert_eq!(stack.app.items("RejectedSignalsTable").await, expected);
    assert_eq!(stack.stored().await.len(), 1);
}

#[tokio::test]
async fn throttled_or_hanging_messages_neither_fail_nor_delay_the_others() {
    join_all(
        [
            (Fault::UnprocessedWhere("hot-customer"), 1),
            (Fault::Throttled, 1),
            (Fault::Stall, 9),
        ]
        .map(async |(hot, count)| {
            let stack = Stack::start(Fault::ResetBefore.always()).await;
            for n in 0..10 {
                let customer = if n < count {
                    "hot-customer".to_owned()
                } else {
                    format!("c{n}")
                };
                let signal = json!({"customerId": customer, "eventType": "view"});
                assert_eq!(
                    stack
                        .send(&json!({"signals": [signal, signal, signal]}), NOW)
                        .await
                        .1["deferred"],
                    3
                );
            }
            let messages = stack.sqs.take_messages();
            stack.proxy.set(hot.where_body_has("hot-customer"));
            let drain = async { (stack.drain_all(&messages).await, Instant::now()) };
            let others_are_stored = async {
                while stack.stored().await.len() < 3 * (10 - count) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Instant::now()
            };
            let others_are_stored = timeout(Duration::from_mins(1), others_are_stored);
            let began = Instant::now();
            let ((failed, drained), stored) = tokio::join!(drain, others_are_stored);
            let stored = stored.expect("the other messages are stored");
            assert_eq!(failed, messages[..count]);
            assert!(stored < drained, "the others waited");
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{:?}",
                began.elapsed()
            );
            stack.proxy.set(Plan::none());
            assert_eq!(stack.drain_all(&failed).await, [""; 0]);
            assert_eq!(stack.stored().await.len(), 30);
        }),
    )
    .await;
}

#[tokio::test]
async fn large_message_of_which_dynamodb_takes_a_part_in_5_s_is_drained_in_one_invocation() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    assert_eq!(
        stack.send(&json!({"signals": signals(500)}), NOW).await.1["deferred"],
        500
    );
    stack.proxy.set(
        Fault::Slow(Duration::from_millis(700))
            .always()
            .of("BatchWriteItem"),
    );
    let began = Instant::now();
    assert_eq!(stack.drain().await, [""; 0]);
    assert!(
        began.elapsed() > Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(stack.stored().await.len(), 500);
}

#[tokio::test]
async fn signal_that_dynamodb_refuses_at_the_drain_is_kept_as_rejected() {
    let stack = Stack::start(Fault::ResetBefore.always()).await;
    stack.send(&named(3), NOW).await;
    stack
        .proxy
        .set(Plan::of(["BatchWriteItem", "PutItem"].map(|of| {
            Fault::Invalid
                .where_body_has("\"data\":{\"M\":{\"n\":{\"N\":\"1\"}")
                .of(of)
        })));
    assert_eq!(stack.drain().await, [""; 0]);
    assert_eq!(stack.stored().await.len(), 2);
    let rejected = stack.app.items("RejectedSignalsTable").await;
    assert_eq!(rejected.len(), 1);
    let rejected = &rejected[0];
    assert_eq!(rejected["index"].as_n().unwrap(), "1");
    assert_eq!(rejected["keyId"].as_s().unwrap(), "key_of_shop");
    // The operator has the whole retention from the drain on, however long the message waited.
    let expires_at = DRAINED_AT.plus(RETENTION).seconds();
    assert_eq!(
        rejected["expiresAt"].as_n().unwrap(),
        &expires_at.to_string()
    );
}

#[tokio::test]
async fn message_that_cannot_be_read_goes_to_the_dead_letter_queue_at_once() {
    let stack = Stack::start(Plan::none()).await;
    let unreadable = ["", "not JSON", "{}", r#"{"accountId":"a b"}"#].map(ToOwned::to_owned);
    assert_eq!(stack.drain_all(&unreadable).await, [""; 0]);
    assert_eq!(stack.sqs.take_messages(), unreadable);
    stack.sqs.set_unavailable(true);
    assert_eq!(
        stack.drain_all(&unreadable).await,
        unreadable,
        "delivered again rather than lost"
    );
}
