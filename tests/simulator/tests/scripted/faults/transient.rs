//! A transient fault fails no request and stores nothing twice (docs/api.md, When DynamoDB is
//! unavailable).

use simulator::aws::dynamodb::API_KEYS;
use simulator::aws::faults::{Fault, Target};

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{customer, request_with_identifier};
use crate::support::stack::{FAILURES, Stack, slow};

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
