//! A transient fault fails no request and stores nothing twice (docs/api.md, When DynamoDB is
//! unavailable).

use std::time::Duration;

use simulator::aws::dynamodb::API_KEYS;
use simulator::aws::faults::{Fault, Target};

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{
    REQUEST_IDENTIFIER, assert_unavailable, customer, request_with_identifier,
    request_without_identifier,
};
use crate::support::stack::{
    FAILURES, LATE_RECORD_RESERVE, LATENCY, QUEUE_RESERVE, Stack, refusing_queue, slow, text,
};

/// Faults of one call, after which the same call succeeds.
fn transient() -> impl Iterator<Item = Fault> {
    FAILURES.into_iter().chain([slow(30)])
}

#[tokio::test(start_paused = true)]
async fn transient_fault_of_the_record_is_not_taken_for_an_earlier_request() {
    for fault in transient() {
        let stack = Stack::start([fault.clone().on_call(1)]);
        let response = stack.request(request_with_identifier(2)).await;
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
        assert_eq!(response.json()["accepted"], 2, "{fault:?}");
        assert_eq!(response.json()["replayed"], false, "{fault:?}");
        assert_eq!(stack.faulted(), 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn request_without_identifier_writes_no_record_although_an_answer_is_lost() {
    let stack = Stack::start([Fault::AnswerLost.on_call(1)]);
    let response = stack.request(request_without_identifier(3)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(stack.stored_numbers(), [0, 1, 2]);
    assert_eq!(stack.faulted(), 1);
    assert_eq!(stack.calls_of("PutItem"), 0);
}

#[tokio::test(start_paused = true)]
async fn customer_created_by_a_lost_attempt_is_created() {
    for fault in transient() {
        let stack = Stack::start([fault.clone().on_call(1)]);
        let response = stack.request(customer()).await;
        assert_eq!(stack.faulted(), 1);
        let result = &response.json()["result"];
        assert_eq!(response.status, 200, "{fault:?}: {}", response.text);
        assert_eq!(result, "created", "{fault:?}: {}", response.text);
        let response = stack.request(customer()).await;
        assert_eq!(response.json()["result"], "updated");
        assert_eq!(text(&stack.customer(), "city"), Some("Ulm"));
    }
}

#[tokio::test(start_paused = true)]
async fn transient_fault_of_the_key_table_fails_no_request() {
    for fault in transient() {
        let of_keys = fault.clone().on_call(1).on(Target::Table(API_KEYS));
        let stack = Stack::start([of_keys]);
        let response = stack.request(RequestBuilder::ping()).await;
        assert_eq!(response.status, 200, "{fault:?}");
        assert_eq!(stack.faulted(), 1);
        let response = stack.request(customer()).await;
        assert_eq!(response.status, 200, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_call_is_made_again_after_half_a_second() {
    // The look-up of the key comes before, and the signals after the record.
    for (call, calls) in [(request_with_identifier(3), 3), (customer(), 2)] {
        let stack = Stack::start([Fault::Hangs.on_call(1)]);
        let (response, took) = stack.timed(stack.request(call)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert_eq!(took, Duration::from_millis(500) + calls * LATENCY);
    }
}

#[tokio::test(start_paused = true)]
async fn unprocessed_items_are_sent_again_until_all_are_stored() {
    let first = Fault::Unprocessed(7).always();
    let again = Fault::Unprocessed(0).always();
    let stack = Stack::start([
        first.for_operation("BatchWriteItem").on_call(1),
        again.for_operation("BatchWriteItem").on_call(3),
    ]);
    let response = stack.request(request_with_identifier(30)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 30, "{}", response.text);
    assert_eq!(stack.stored_numbers(), (0..30).collect::<Vec<_>>());
    assert_eq!(
        stack.calls_of("BatchWriteItem"),
        4,
        "two batches, one of them three times"
    );
}

#[tokio::test(start_paused = true)]
async fn lasting_unprocessed_items_are_a_503_that_a_retry_completes() {
    let of_batch = |fault: Fault| fault.always().for_operation("BatchWriteItem");
    let stack = Stack::start([
        of_batch(Fault::Unprocessed(1)).on_call(2),
        of_batch(Fault::Unprocessed(0)),
        refusing_queue(),
    ]);
    let timeout = Duration::from_millis(1_200);
    let call = request_with_identifier(25);
    let call = call.time_left(timeout + QUEUE_RESERVE + LATE_RECORD_RESERVE);
    let (response, took) = stack.timed(stack.request(call)).await;
    assert_unavailable(&response);
    assert!(took <= timeout + LATENCY, "{took:?}");
    assert_eq!(response.json()["requestIdentifier"], REQUEST_IDENTIFIER);
    assert_eq!(stack.stored().len(), 1);
    stack.set([]);
    let response = stack.request(request_with_identifier(25)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["replayed"], true, "{}", response.text);
    assert_eq!(stack.stored_numbers(), (0..25).collect::<Vec<_>>());
}
