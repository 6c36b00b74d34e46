//! How long requests wait for a table that took nothing of an earlier one (docs/api.md, When DynamoDB is unavailable). The
//! machine may be too busy for an answer in 150 ms, so what needs one is tried again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::{NOW, Stack, named, signals};

/// Sends signals; returns how many were deferred, and how long it took.
async fn deferred(stack: &Stack, body: &Value) -> (u64, Duration) {
    let began = Instant::now();
    let (status, response) = stack.send(body, NOW).await;
    assert_eq!(status, 200, "{response}");
    (response.get("deferred").map_or(0, |deferred| deferred.as_u64().unwrap()), began.elapsed())
}

/// A stack of which each table has just left a request without an answer.
async fn silent_stack() -> Stack {
    let stack = Stack::start(Fault::Stall.always()).await;
    let (record, both) = (named(2), json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]}));
    for (count, took) in <[_; 2]>::from(tokio::join!(deferred(&stack, &record), deferred(&stack, &both))) {
        assert!(count > 0 && took >= Duration::from_secs(2), "{count} deferred after {took:?}");
    }
    stack
}

#[tokio::test]
async fn table_that_left_a_request_unanswered_has_little_time_until_it_answers() {
    let stack = silent_stack().await;
    for body in
        [named(2), json!({"signals": signals(2)}), json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]})]
    {
        let (count, took) = deferred(&stack, &body).await;
        assert!(count > 0 && took < Duration::from_millis(1_500), "{count} deferred after {took:?}");
    }
    stack.proxy.set(Plan::none());
    while deferred(&stack, &json!({"signals": signals(2)})).await.0 > 0 {}
    stack.proxy.set(Fault::Slow(Duration::from_millis(800)).always());
    assert_eq!(deferred(&stack, &json!({"signals": signals(2)})).await.0, 0, "it has its 2 seconds again");
}

#[tokio::test]
async fn first_answer_of_a_table_gives_the_same_request_its_time_again() {
    let stack = silent_stack().await;
    stack.proxy.set(Fault::Slow(Duration::from_millis(800)).where_body_has("\"29\"").of("BatchWriteItem"));
    let mut count = 30;
    while count == 30 {
        count = deferred(&stack, &json!({"signals": signals(30)})).await.0;
    }
    assert_eq!(count, 0, "the first batch is answered at once, the second one later");
}

#[tokio::test]
async fn one_request_in_5_s_gives_a_silent_table_its_whole_time() {
    let stack = silent_stack().await;
    let began = Instant::now();
    stack.proxy.set(Fault::Slow(Duration::from_millis(400)).always());
    while deferred(&stack, &json!({"signals": signals(1)})).await.0 > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "no request was a probe");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(deferred(&stack, &json!({"signals": signals(1)})).await.0, 0);
}

#[tokio::test]
async fn table_of_customers_that_hung_has_its_whole_time_in_the_next_request() {
    let stack = Stack::start(Fault::Stall.always()).await;
    let customer = || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&stack.key);
    assert_eq!(stack.app.send(customer().within(Duration::from_millis(300))).await.status, 503);
    stack.proxy.set(Fault::Slow(Duration::from_millis(500)).always());
    assert_eq!(stack.app.send(customer()).await.status, 200);
}
