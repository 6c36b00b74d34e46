//! How long a request waits for DynamoDB where there is an overflow queue (docs/api.md, When
//! DynamoDB is unavailable).

use std::time::{Duration, Instant};

use aws::deadline::Deadline;
use serde_json::{Value, json};
use store::retry::{PATIENCE_BEFORE_QUEUE, deadline_of_writes};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::clock::NOW;
use crate::support::overflow_stack::{OverflowStack, named, signals};
use crate::support::requests::REQUEST_IDENTIFIER;

/// The longest time of the queue and of the function's own work on a busy machine. It is shorter than
/// a second patience.
const TIME_OF_THE_QUEUE: Duration = Duration::from_secs(1);

/// A request's deferred signals, and how long its response took.
struct TimedAnswer {
    deferred: u64,
    took: Duration,
}

async fn answer(stack: &OverflowStack, body: &Value) -> TimedAnswer {
    let began = Instant::now();
    let response = stack.send(body, NOW).await;
    let took = began.elapsed();
    assert_eq!(response.status, 200, "{response:?}");
    // The count is absent when it is 0.
    let deferred = response.json()["deferred"].as_u64().unwrap_or_default();
    TimedAnswer { deferred, took }
}

fn signal_of(customer: &str) -> Value {
    json!({"customerId": customer, "eventType": "view"})
}

#[tokio::test]
async fn request_is_deferred_after_one_patience_when_dynamodb_hangs() {
    let stack = OverflowStack::start(Fault::Hanging.always()).await;
    let valid_and_rejected = json!({"signals": [signal_of("c"), 17]});
    // The third request waits as long as the first: the function remembers nothing of a request.
    for body in [&named(2), &valid_and_rejected, &named(2)] {
        let answer = answer(&stack, body).await;
        assert!(answer.deferred > 0, "{body}");
        let longest = PATIENCE_BEFORE_QUEUE + TIME_OF_THE_QUEUE;
        assert!(
            (PATIENCE_BEFORE_QUEUE..longest).contains(&answer.took),
            "{body}: {:?}",
            answer.took
        );
    }
    // After the outage, DynamoDB has its whole time again at once.
    stack
        .proxy
        .set(Fault::Slow(Duration::from_millis(600)).always());
    let answer = answer(&stack, &json!({"signals": signals(2)})).await;
    assert_eq!(answer.deferred, 0);
}

#[tokio::test]
async fn hanging_call_is_made_again_beside_the_first() {
    for (operation, signals) in [
        ("PutItem", 2),
        ("BatchWriteItem", 2),
        ("BatchWriteItem", 60),
    ] {
        let stack = OverflowStack::start(Fault::Hanging.on_call(1).for_operation(operation)).await;
        let answer = answer(&stack, &named(signals)).await;
        assert_eq!(answer.deferred, 0, "{operation}");
        assert_eq!(stack.stored().await.len(), signals, "{operation}");
    }
    let stack = OverflowStack::start(Fault::Hanging.on_call(1)).await;
    let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
    let response = stack.app.send(customer.key(&stack.key)).await;
    assert_eq!(response.json()["result"], "created", "{}", response.text);
}

#[tokio::test]
async fn answer_to_the_first_call_counts_also_after_the_second_is_made() {
    let slow = Fault::Slow(Duration::from_millis(700)).on_call(1);
    let hanging = Fault::Hanging.on_call(2);
    let plan = Plan::new([
        slow.for_operation("BatchWriteItem"),
        hanging.for_operation("BatchWriteItem"),
    ]);
    let stack = OverflowStack::start(plan).await;
    let answer = answer(&stack, &json!({"signals": [signal_of("c")]})).await;
    assert_eq!(answer.deferred, 0);
}

#[tokio::test]
async fn update_without_a_queue_has_its_whole_time_after_one_that_hung() {
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(Fault::Hanging.always()).await;
    let customer =
        || RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})).key(&key);
    let short = customer().time_left(Duration::from_millis(300));
    assert_eq!(app.send(short).await.status, 503);
    proxy.set(Fault::Slow(Duration::from_millis(1_500)).always());
    assert_eq!(app.send(customer()).await.status, 200);
}

#[tokio::test]
async fn throttled_customer_defers_nothing_of_another() {
    let hot = Fault::Throttled.where_body_has("hot-customer");
    let stack = OverflowStack::start(hot.for_operation("BatchWriteItem")).await;
    for _ in 0..2 {
        let hot = answer(&stack, &json!({"signals": [signal_of("hot-customer")]})).await;
        assert_eq!(hot.deferred, 1);
        let other = answer(&stack, &json!({"signals": [signal_of("c")]})).await;
        assert_eq!(other.deferred, 0);
    }
}

#[tokio::test]
async fn rejected_signals_that_are_not_acknowledged_are_queued() {
    for body in [
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [signal_of("c"), 17]}),
        json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [17]}),
    ] {
        let plan = Fault::InternalServerError
            .always()
            .where_body_has(testkit::Tables::name("RejectedSignalsTable"));
        let stack = OverflowStack::start(plan).await;
        let response = stack.send(&body, NOW).await.json();
        assert_eq!(response.get("deferred"), None, "{response}");
        assert_eq!(response["rejected"], 1, "{response}");
        assert_eq!(stack.app.items("RejectedSignalsTable").await, []);
        stack.proxy.set(Plan::none());
        stack.drain().await;
        let rejected = stack.app.items("RejectedSignalsTable").await;
        assert_eq!(rejected.len(), 1, "{body}");
        let valid = body["signals"].as_array().unwrap().len() - 1;
        assert_eq!(stack.stored().await.len(), valid, "{body}");
        assert_eq!(
            stack.app.items("IdempotencyTable").await.len(),
            valid,
            "{body}"
        );
    }
}

#[tokio::test]
async fn request_whose_record_is_unknown_gets_no_identifier_to_retry_with() {
    let stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.sqs.set_unavailable(true);
    let response = stack.send(&named(2), NOW).await;
    response.assert_problem(503, "storage-unavailable");
    let body = response.json();
    assert_eq!(body.get("requestIdentifier"), None, "{body}");
}

#[tokio::test]
async fn few_calls_of_a_large_batch_are_made_a_second_time() {
    let stack = OverflowStack::start(Fault::Hanging.always().for_operation("BatchWriteItem")).await;
    let answer = answer(&stack, &json!({"signals": signals(500)})).await;
    assert_eq!(answer.deferred, 500);
    // Twenty calls of 25 signals, and four beside them. None of them ends before the deadline.
    let calls = stack.proxy.counts().calls_of("BatchWriteItem");
    assert!((20..=24).contains(&calls), "{calls} calls");
}

#[test]
fn writes_of_a_request_that_has_little_time_leave_the_queue_its_part() {
    let deadline = Deadline::after(Duration::from_secs(3));
    let writes = deadline_of_writes(deadline, true);
    assert!(writes.remaining() <= Duration::from_millis(500));
}

#[tokio::test]
async fn batch_that_was_throttled_goes_on_with_few_calls() {
    let throttled = (1..=20).map(|n| Fault::Throttled.on_call(n).for_operation("BatchWriteItem"));
    let hanging = Fault::Hanging.always().for_operation("BatchWriteItem");
    let stack = OverflowStack::start(Plan::new(throttled.chain([hanging]))).await;
    let answer = answer(&stack, &json!({"signals": signals(500)})).await;
    assert_eq!(answer.deferred, 500);
    // Twenty calls are throttled. Then there are two, and two beside them.
    let calls = stack.proxy.counts().calls_of("BatchWriteItem");
    assert!((21..=24).contains(&calls), "{calls} calls");
}
