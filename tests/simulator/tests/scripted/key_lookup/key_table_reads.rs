//! How often the functions read the key table (docs/outages.md, The key snapshot).

use std::time::Duration;

use simulator::aws::faults::{CUT_RESPONSE, Fault};

use crate::support::clock::NOW;
use crate::support::key_sources::of_key_table;
use crate::support::request_builder::RequestBuilder;
use crate::support::stack::{Stack, assert_unavailable};

#[tokio::test(start_paused = true)]
async fn invalid_key_is_read_once_in_ten_seconds() {
    let stack = Stack::start([]);
    for (millis, reads) in [(0, 1), (1, 1), (9_999, 1), (10_000, 2)] {
        let at = NOW.plus(Duration::from_millis(millis));
        let ping = RequestBuilder::ping().key("an-invalid-key").received_at(at);
        assert_eq!(stack.request_with_its_key(ping).await.status, 401);
        assert_eq!(stack.calls_of("GetItem"), reads, "after {millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn lookup_that_has_no_response_in_its_200_is_repeated_and_then_a_503() {
    for body in ["", "<html></html>", CUT_RESPONSE] {
        let stack = Stack::start(of_key_table(Fault::ResponseReplaced(body)));
        for key in [&*stack.key, "an-unknown-key"] {
            let before = stack.calls_of("GetItem");
            let ping = RequestBuilder::ping().key(key).received_at(NOW);
            let ping = ping.time_left(Duration::from_secs(1));
            let (response, took) = stack.timed(stack.request_with_its_key(ping)).await;
            assert_unavailable(&response);
            assert!(took <= Duration::from_secs(1), "{took:?}");
            let reads = stack.calls_of("GetItem") - before;
            assert!((8..=16).contains(&reads), "{body}: {reads}");
        }
    }
}
