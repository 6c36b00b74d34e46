//! How long requests wait for a table that took nothing of an earlier one (docs/api.md, When
//! DynamoDB is unavailable). The machine may be too busy for an answer in 150 ms, so what needs one
//! is tried again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::{NOW, Stack, named, signals};
use crate::faults::app_behind_proxy;

/// Sends signals; returns how many were deferred, and how long it took.
async fn deferred(stack: &Stack, body: &Value) -> (u64, Duration) {
    let began = Instant::now();
    let (status, response) = stack.send(body, NOW).await;
    assert_eq!(status, 200, "{response}");
    (
        response
            .get("deferred")
            .map_or(0, |deferred| deferred.as_u64().unwrap()),
        began.elapsed(),
    )
}

/// Sends signals until as many are deferred after less than their 2 seconds. On a busy machine one
/// request may take longer.
async fn soon_deferred(stack: &Stack, body: &Value, expected: u64) {
    let mut others = Vec::new();
    loop {
        let (count, took) = deferred(stack, body).await;
        if count == expected && took < Duration::from_millis(1_500) {
            return;
        }
        others.push((count, took));
        assert!(
            others.len() < 20,
            "never {expected} deferred after a short time: {others:?}"
        );
    }
}

/// A stack of which each table has just left a request without an answer.
async fn silent_stack() -> Stack {
    let stack = Stack::start(Fault::Stall.always()).await;
    let (record, both) = (
        named(2),
        json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]}),
    );
    for (count, took) in <[_; 2]>::from(tokio::join!(
        deferred(&stack, &record),
        deferred(&stack, &both)
    )) {
        assert!(
            count > 0 && took >= Duration::from_secs(2),
            "{count} deferred after {took:?}"
        );
    }
    stack
}

#[tokio::test]
async fn table_that_left_a_request_unanswered_has_little_time_until_it_answers() {
    let stack = silent_stack().await;
    let both = json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]});
    for (body, expected) in [
        (named(2), 2),
        (json!({"signals": signals(2)}), 2),
        (both, 1),
    ] {
        soon_deferred(&stack, &body, expected).await;
    }
    stack.proxy.set(Plan::none());
    while deferred(&stack, &json!({"signals": signals(2)})).await.0 > 0 {}
    stack
        .proxy
        .set(Fault::Slow(Duration::from_millis(800)).always());
    assert_eq!(
        deferred(&stack, &json!({"signals": signals(2)})).await.0,
        0,
        "it has its 2 seconds again"
    );
}

#[tokio::test]
async fn first_answer_of_a_table_gives_the_same_request_its_time_again() {
    let stack = silent_stack().await;
    stack.proxy.set(
        Fault::Slow(Duration::from_millis(800))
            .where_body_has("\"29\"")
            .of("BatchWriteItem"),
    );
    let mut count = 30;
    while count == 30 {
        count = deferred(&stack, &json!({"signals": signals(30)})).await.0;
    }
    assert_eq!(
        count, 0,
        "the first batch is answered at once, the second one later"
    );
}

#[tokio::test]
async fn update_without_a_queue_has_its_whole_time_after_one_that_hung() {
    let (app, proxy, key) = app_behind_proxy(Fault::Stall.always()).await;
    let customer =
        || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&key);
    assert_eq!(
        app.send(customer().within(Duration::from_millis(300)))
            .await
            .status,
        503
    );
    proxy.set(Fault::Slow(Duration::from_millis(500)).always());
    assert_eq!(app.send(customer()).await.status, 200);
}

#[tokio::test]
async fn hot_customer_has_a_short_time_whatever_the_others_are_answered() {
    let stack = Stack::start(
        Fault::Throttled
            .where_body_has("hot-customer")
            .of("BatchWriteItem"),
    )
    .await;
    let of = |customer: &str| json!({"signals": [{"customerId": customer, "eventType": "view"}]});
    let (count, took) = deferred(&stack, &of("hot-customer")).await;
    assert!(
        count == 1 && took >= Duration::from_secs(1),
        "{count} deferred after {took:?}"
    );
    for _ in 0..3 {
        soon_deferred(&stack, &of("c"), 0).await;
        let both = json!({"signals": [of("hot-customer")["signals"][0], of("c")["signals"][0]]});
        soon_deferred(&stack, &both, 1).await;
    }
}
