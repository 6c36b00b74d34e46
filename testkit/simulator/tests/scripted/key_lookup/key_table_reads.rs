//! How often the functions read the key table, and what they do without it (docs/outages.md, The
//! key snapshot).

use std::time::Duration;

use simulator::aws::faults::{CUT_ANSWER, Fault};

use crate::support::clock::later;
use crate::support::key_sources::of_key_table;
use crate::support::request_builder::RequestBuilder;
use crate::support::requests::assert_unavailable;
use crate::support::stack::{INVALID, LATENCY, Stack};

/// Invalid keys that a function caches.
const MAX_INVALID_KEYS: u64 = 8_192;

fn ping_with(key: &str, seconds: u64) -> RequestBuilder {
    RequestBuilder::ping().key(key).received_at(later(seconds))
}

#[tokio::test(start_paused = true)]
async fn random_keys_are_read_once_each_and_evict_no_valid_key() {
    const KEYS: u64 = MAX_INVALID_KEYS + 8;
    let stack = Stack::start([]);
    let status = async |key: &str| stack.request_with_its_key(ping_with(key, 0)).await.status;
    let reads = || stack.calls_of("GetItem");
    assert_eq!(status(&stack.key).await, 200);
    assert_eq!(reads(), 1);
    let keys: Vec<String> = (0..KEYS).map(|n| format!("random-{n}")).collect();
    for key in &keys {
        assert_eq!(status(key).await, 401);
    }
    assert_eq!(reads(), 1 + KEYS);
    let newest = keys.last().unwrap();
    for (key, expected) in [(&stack.key, 200), (newest, 401)] {
        assert_eq!(status(key).await, expected);
        assert_eq!(reads(), 1 + KEYS, "{key} is cached");
    }
    assert_eq!(status(&keys[0]).await, 401);
    assert_eq!(reads(), 2 + KEYS, "the oldest key was evicted");
}

#[tokio::test(start_paused = true)]
async fn invalid_key_is_read_once_in_ten_seconds() {
    let stack = Stack::start([]);
    for (millis, reads) in [(0, 1), (1, 1), (9_999, 1), (10_000, 2)] {
        let at = later(0).plus(Duration::from_millis(millis));
        let ping = RequestBuilder::ping().key("an-invalid-key").received_at(at);
        assert_eq!(stack.request_with_its_key(ping).await.status, 401);
        assert_eq!(stack.calls_of("GetItem"), reads, "after {millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn look_up_that_has_no_answer_in_its_200_is_repeated_and_then_a_503() {
    for body in ["", "<html></html>", CUT_ANSWER] {
        let stack = Stack::start(of_key_table(Fault::AnswerReplaced(body)));
        for key in [&*stack.key, "an-unknown-key"] {
            let before = stack.calls_of("GetItem");
            let ping = ping_with(key, 0).time_left(Duration::from_secs(1));
            let (response, took) = stack.timed(stack.request_with_its_key(ping)).await;
            assert_unavailable(&response);
            assert!(took <= Duration::from_secs(1), "{took:?}");
            let reads = stack.calls_of("GetItem") - before;
            assert!((8..=16).contains(&reads), "{body}: {reads}");
        }
    }
}

/// The time of a request to a function whose key table has failed.
const SHORT_TIME: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn without_the_key_table_an_unknown_key_is_a_503_and_a_cached_invalid_key_a_401() {
    let stack = Stack::start([]);
    let response = async |key: &str, seconds| {
        let ping = ping_with(key, seconds).time_left(SHORT_TIME);
        stack.request_with_its_key(ping).await
    };
    assert_eq!(response("an-invalid-key", 0).await.status, 401);
    for fault in [
        Fault::Throttled,
        Fault::ServerError,
        Fault::Lost,
        Fault::Refused("ExpiredTokenException"),
    ] {
        stack.set(of_key_table(fault));
        assert_unavailable(&response("an-unknown-key", 0).await);
    }
    assert_eq!(response("an-invalid-key", 9).await.status, 401);
    assert_unavailable(&response("an-invalid-key", 10).await);
}

#[tokio::test(start_paused = true)]
async fn look_up_that_dynamodb_rejects_is_a_503_after_one_call() {
    let stack = Stack::start(of_key_table(INVALID));
    let (response, took) = stack.timed(stack.request(RequestBuilder::ping())).await;
    response.assert_problem(503, "storage-unavailable");
    assert_eq!(took, 2 * LATENCY, "the call, and the read of the snapshot");
}
