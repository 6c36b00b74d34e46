//! When DynamoDB stays unavailable, and the queue refuses what is deferred, the response is a 503 before
//! the deadline (docs/api.md, When DynamoDB is unavailable).

use std::time::Duration;

use serde_json::json;
use simulator::aws::dynamodb::REJECTED_SIGNALS;
use simulator::aws::faults::Fault;

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{
    customer, request_with_identifier, request_without_identifier, signals,
};
use crate::support::stack::{
    FAILURES, LATE_RECORD_BUDGET, LATENCY, QUEUE_RESERVE, Stack, assert_unavailable, refusing_queue,
};

/// Faults of every call.
fn lasting() -> impl Iterator<Item = Fault> {
    FAILURES.into_iter().chain([
        Fault::Hangs,
        Fault::Refused("ExpiredTokenException"),
        Fault::Refused("UnrecognizedClientException"),
    ])
}

#[tokio::test(start_paused = true)]
async fn lasting_fault_is_a_503_at_the_deadline_at_the_latest() {
    let timeout = Duration::from_millis(600);
    for fault in lasting() {
        let stack = Stack::start([]);
        for call in [customer(), request_without_identifier(1)] {
            assert_eq!(stack.request(call).await.status, 200);
        }
        stack.set([fault.clone().always(), refusing_queue()]);
        let of_batch = QUEUE_RESERVE + LATE_RECORD_BUDGET;
        for (call, reserve) in [
            (customer(), QUEUE_RESERVE),
            (request_with_identifier(30), of_batch),
            (request_without_identifier(30), of_batch),
        ] {
            let request = stack.request(call.time_left(timeout + reserve));
            let (response, took) = stack.timed(request).await;
            assert_unavailable(&response);
            let longest = timeout + LATENCY + LATE_RECORD_BUDGET;
            assert!(took <= longest, "{fault:?}: {took:?}");
            // After these faults DynamoDB has done the call, so the record may exist.
            let is_done = matches!(fault, Fault::ResponseLost | Fault::ResponseReplaced(_));
            let identifier = &response.json()["requestIdentifier"];
            assert!(is_done || identifier.is_null(), "{fault:?}: {identifier}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn update_waits_for_a_table_that_hangs_until_its_writes_must_end() {
    let timeout = Duration::from_millis(600);
    let stack = Stack::start([Fault::Hangs.always(), refusing_queue()]);
    let request = stack.request(customer().time_left(timeout + QUEUE_RESERVE));
    let (response, took) = stack.timed(request).await;
    assert_unavailable(&response);
    assert_eq!(took, timeout + LATENCY);
    let lines = stack.take_lines();
    let [line] = lines.as_slice() else {
        panic!("one line for the request: {lines:?}")
    };
    // Also of abandoned calls: the first begins at once, and the second ends at the deadline.
    assert_eq!(line["DynamoDbLatency"], 600.0, "{line}");
}

#[tokio::test(start_paused = true)]
async fn failing_table_of_rejected_signals_fails_no_request() {
    let failing = Fault::ServerError.where_body_has(REJECTED_SIGNALS);
    let stack = Stack::start([failing, refusing_queue()]);
    let signals = json!([{"customerId": "c", "eventType": "e"}, 17]);
    let call = RequestBuilder::signals(json!({"signals": signals}));
    let response = stack.request(call).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 1, "{}", response.text);
    assert!(stack.faulted() > 1);
}

#[tokio::test(start_paused = true)]
async fn failing_request_makes_a_bounded_number_of_calls() {
    const REQUESTS: u64 = 10;
    // Half of the bounds of the waits, 25, 50, 100, 200, 200 and 200 ms, add up to 388 ms: on
    // average, a request of 400 ms makes 6 to 7 calls.
    const CALLS: std::ops::RangeInclusive<u64> = REQUESTS * 5..=REQUESTS * 8;
    for fault in [Fault::ServerError, Fault::ResponseReplaced("")] {
        let stack = Stack::start([fault.clone().always(), refusing_queue()]);
        for _ in 0..REQUESTS {
            let update = customer().time_left(QUEUE_RESERVE + Duration::from_millis(400));
            assert_unavailable(&stack.request(update).await);
        }
        let calls = stack.calls_of("UpdateItem");
        assert!(CALLS.contains(&calls), "{fault:?}: {calls} calls");
        stack.set([]);
        let response = stack.request(customer()).await;
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
    }
}

#[tokio::test(start_paused = true)]
async fn retry_with_the_identifier_of_a_503_is_stored_once() {
    // The first batch is stored, each attempt of the second one fails.
    let second = Fault::ServerError
        .where_body_has("\"29\"")
        .for_operation("BatchWriteItem");
    let stack = Stack::start([second, refusing_queue()]);
    let response = stack.request(request_without_identifier(30)).await;
    assert_unavailable(&response);
    assert_eq!(stack.stored().len(), 25);
    let identifier = &response.json()["requestIdentifier"];
    let retry = json!({"requestIdentifier": identifier, "signals": signals(30)});
    let failed_retry = stack.request(RequestBuilder::signals(&retry)).await;
    assert_unavailable(&failed_retry);
    assert_eq!(
        &failed_retry.json()["requestIdentifier"],
        identifier,
        "a retry that fails may be repeated, too"
    );
    stack.set([]);
    let response = stack.request(RequestBuilder::signals(&retry)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["replayed"], true, "{}", response.text);
    assert_eq!(stack.stored_numbers(), (0..30).collect::<Vec<_>>());
}
