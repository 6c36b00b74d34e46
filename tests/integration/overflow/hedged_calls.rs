//! The second call beside one that DynamoDB does not answer for a while, where there is an overflow
//! queue (docs/outages.md, How long a request waits).

use std::time::Duration;

use serde_json::json;
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::app_behind_proxy::assert_faulted;
use crate::support::clock::NOW;
use crate::support::overflow_stack::{OverflowStack, assert_not_deferred};
use crate::support::requests::{batch_with_identifier, signals};

#[tokio::test]
async fn hanging_call_is_made_again_beside_the_first() {
    for (operation, signals) in [
        ("PutItem", 2),
        ("BatchWriteItem", 2),
        ("BatchWriteItem", 60),
    ] {
        let stack = OverflowStack::start(Fault::Hanging.on_call(1).for_operation(operation)).await;
        assert_not_deferred(&stack.send(&batch_with_identifier(signals), NOW).await);
        assert_eq!(stack.stored().await.len(), signals, "{operation}");
        assert_faulted(&stack.proxy);
    }
    let stack = OverflowStack::start(Fault::Hanging.on_call(1)).await;
    let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
    let response = stack.app.send(customer.key(&stack.key)).await;
    assert_eq!(response.json()["result"], "created", "{}", response.text);
    assert_faulted(&stack.proxy);
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
    assert_not_deferred(&stack.send(&json!({"signals": signals(1)}), NOW).await);
    assert_eq!(stack.proxy.counts().calls_of("BatchWriteItem"), 2);
}

#[tokio::test]
async fn few_calls_of_a_large_batch_are_made_a_second_time() {
    let stack = OverflowStack::start(Fault::Hanging.always().for_operation("BatchWriteItem")).await;
    stack
        .send_deferred(&json!({"signals": signals(500)}), NOW, 500)
        .await;
    // Twenty calls of 25 signals, and four beside them. None of them ends before the deadline.
    let calls = stack.proxy.counts().calls_of("BatchWriteItem");
    assert!((20..=24).contains(&calls), "{calls} calls");
}

#[tokio::test]
async fn batch_that_was_throttled_goes_on_with_few_calls() {
    let throttled = (1..=20).map(|n| Fault::Throttled.on_call(n).for_operation("BatchWriteItem"));
    let hanging = Fault::Hanging.always().for_operation("BatchWriteItem");
    let stack = OverflowStack::start(Plan::new(throttled.chain([hanging]))).await;
    stack
        .send_deferred(&json!({"signals": signals(500)}), NOW, 500)
        .await;
    // Twenty calls are throttled. Then there are two, and two beside them.
    let calls = stack.proxy.counts().calls_of("BatchWriteItem");
    assert!((21..=24).contains(&calls), "{calls} calls");
}
