//! Throttling of all tables, one table or one partition, by exceptions and by unprocessed items
//! (docs/outages.md, How long a request waits).

use std::time::Duration;

use serde_json::{Value, json};
use simulator::aws::dynamodb::{CUSTOMERS, SIGNALS};
use simulator::aws::faults::{Fault, Rule};

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{
    REQUEST_IDENTIFIER, customer, request_with_identifier, request_without_identifier,
};
use crate::support::stack::{
    LATENCY, Stack, WRITE_BUDGET, assert_not_deferred, assert_unavailable, refusing_queue,
};

/// The customer whose partition is hot.
const HOT: &str = "hot-customer";

/// How long DynamoDB throttles.
const WINDOW: Duration = Duration::from_secs(1);

/// The longest wait between two calls.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Signals of which every fifth belongs to the hot customer.
fn mixed(n: usize) -> RequestBuilder {
    let customer = |n: usize| {
        if n.is_multiple_of(5) {
            HOT.to_owned()
        } else {
            format!("c{n}")
        }
    };
    let signals: Value = (0..n)
        .map(|n| json!({"customerId": customer(n), "eventType": "view"}))
        .collect();
    RequestBuilder::signals(json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": signals}))
}

#[tokio::test(start_paused = true)]
async fn throttling_of_1_s_defers_no_request_and_is_over_a_wait_after_its_end() {
    for (call, signals, throttling) in [
        (request_with_identifier(10), 10, Fault::Throttled),
        (customer(), 0, Fault::Refused("ThrottlingException")),
        (request_without_identifier(60), 60, Fault::Unprocessed(0)),
    ] {
        let stack = Stack::start([Rule {
            during: Duration::ZERO..WINDOW,
            ..throttling.clone().always()
        }]);
        let (response, took) = stack.timed(stack.request(call)).await;
        assert_not_deferred(&response);
        let longest = WINDOW + LONGEST_WAIT + 3 * LATENCY;
        assert!(
            (WINDOW..longest).contains(&took),
            "{throttling:?}: {took:?}"
        );
        assert_eq!(stack.items(SIGNALS).len(), signals, "{throttling:?}");
        let customers = usize::from(signals == 0);
        assert_eq!(stack.items(CUSTOMERS).len(), customers);
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_throttling_is_a_503_within_a_wait_of_the_write_budget_after_few_calls() {
    for fault in [Fault::Throttled, Fault::Unprocessed(0)] {
        let throttled = fault.always().for_operation("BatchWriteItem");
        let stack = Stack::start([throttled.clone(), refusing_queue()]);
        let request = stack.request(request_with_identifier(500));
        let (response, took) = stack.timed(request).await;
        assert_unavailable(&response);
        // The last wait would end after the deadline, so it is not begun. The key is looked up before,
        // and the queue refuses the signals after.
        let is_in_time = took + LONGEST_WAIT >= WRITE_BUDGET && took <= WRITE_BUDGET + 2 * LATENCY;
        assert!(is_in_time, "{throttled:?}: {took:?}");
        // Twenty calls, and then two at once, of which each waits 100 ms on average.
        let calls = stack.calls_of("BatchWriteItem");
        assert!((40..=56).contains(&calls), "{throttled:?}: {calls} calls");
        let now = stack.aws.elapsed();
        stack.set([Rule {
            during: now..now + Duration::from_millis(300),
            ..throttled
        }]);
        let response = stack.request(request_without_identifier(10)).await;
        assert_eq!(response.status, 200, "it has its whole time again");
        assert_eq!(stack.stored_numbers(), (0..10).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn hot_partition_delays_no_other_customer() {
    let stack = Stack::start([Fault::Hot(HOT).where_body_has(HOT), refusing_queue()]);
    assert_unavailable(&stack.request(mixed(100)).await);
    assert_eq!(stack.items(SIGNALS).len(), 80);
    stack.set([]);
    let response = stack.request(mixed(100)).await;
    assert_eq!(response.json()["replayed"], true);
    assert_eq!(stack.items(SIGNALS).len(), 100);
}
