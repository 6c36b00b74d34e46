//! A key table that is slow: the snapshot decides, and the table's response counts when it comes.

use std::time::Duration;

use serde_json::Value;
use simulator::aws::faults::Fault;
use tokio::time::sleep;

use crate::support::clock::{NOW, earlier, later};
use crate::support::key_sources::{KEY, everywhere, of_key_table, of_s3, revoked, signal};
use crate::support::stack::{LATENCY, Stack, key_entry, slow};

/// How long the table is asked before the snapshot is read.
const TABLE_HEAD_START: Duration = Duration::from_millis(350);

/// A table that responds long after the snapshot has decided, and before a call times out.
fn slow_table() -> Fault {
    slow(1_500)
}

#[tokio::test(start_paused = true)]
async fn slow_table_leaves_the_decision_to_the_snapshot_and_its_response_counts_when_it_comes() {
    let stack = Stack::start(of_key_table(slow_table()));
    let key = stack.key_with(2, |entry| entry.revoked_at = Some(earlier(5)));
    stack.publish(&[(&key, key_entry())], earlier(3600));
    let (status, took) = stack.timed(stack.status(&key, NOW)).await;
    assert_eq!(status, 200);
    assert_eq!(took, TABLE_HEAD_START + LATENCY);
    // The entry of the snapshot would be fresh for five seconds.
    let responds_at = Duration::from_millis(1_500) + LATENCY / 2;
    sleep(responds_at.saturating_sub(took + Duration::from_millis(1))).await;
    assert_eq!(stack.status(&key, later(1)).await, 200);
    sleep(Duration::from_millis(2)).await;
    assert_eq!(stack.status(&key, later(1)).await, 401);
}

#[tokio::test(start_paused = true)]
async fn call_that_goes_on_after_a_request_counts_until_its_end() {
    let stack = Stack::with_snapshot(everywhere(slow_table()), &key_entry());
    let (ping, took) = stack.timed(stack.ping(KEY, NOW)).await;
    assert_eq!(ping.status, 200);
    let lines = stack.take_lines();
    let [line] = lines.as_slice() else {
        panic!("one line for the request: {lines:?}")
    };
    assert_eq!(line["DynamoDbLatency"], took.as_secs_f64() * 1_000.0);
}

#[tokio::test(start_paused = true)]
async fn slow_table_is_not_counted_as_unavailable_and_a_silent_one_is() {
    let stack = Stack::with_snapshot(everywhere(slow_table()), &key_entry());
    assert_eq!(stack.status(KEY, NOW).await, 200);
    stack.set(everywhere(Fault::Hangs));
    let request = signal().key(KEY).received_at(later(70));
    let response = stack.request_with_its_key(request).await;
    assert_eq!(response.json()["deferred"], 1);
    let counted: Vec<_> = stack
        .take_lines()
        .iter()
        .filter(|line| line["status"].is_u64())
        .map(|line| line["KeyTableUnavailable"].clone())
        .collect();
    assert_eq!(counted, [Value::Null, 1.into()]);
}

#[tokio::test(start_paused = true)]
async fn revocation_in_the_snapshot_alone_counts_after_the_response_of_a_slow_table() {
    let stack = Stack::start(of_key_table(slow_table()));
    let key = stack.key_with(2, |_| {});
    stack.publish(&[(&key, revoked(key_entry()))], earlier(3600));
    assert_eq!(stack.status(&key, NOW).await, 401);
    let ping = stack.ping("an-unknown-key", later(1)).await;
    assert_eq!(ping.status, 401, "the table has answered both look-ups");
    let calls = stack.reads_of_table();
    assert_eq!(stack.status(&key, later(2)).await, 401);
    assert_eq!(stack.reads_of_table(), calls, "from the cache");
}

#[tokio::test(start_paused = true)]
async fn revocation_in_the_snapshot_alone_counts_when_the_table_responds_before_a_slow_s3() {
    let stack = Stack::start(of_key_table(slow_table()));
    let key = stack.key_with(2, |_| {});
    let not_in_the_cache = stack.key_with(3, |_| {});
    let entries = [&key, &not_in_the_cache].map(|key| (&**key, revoked(key_entry())));
    stack.publish(&entries, earlier(3600));
    assert_eq!(stack.status(&key, NOW).await, 401);
    // The look-up waits for S3 from 350 ms on, for a second.
    let [slow] = of_key_table(slow(600));
    stack.set([slow, of_s3(Fault::Hangs)]);
    for (key, at) in [(&key, later(70)), (&not_in_the_cache, later(140))] {
        let (status, took) = stack.timed(stack.status(key, at)).await;
        assert_eq!(status, 401);
        assert_eq!(took, Duration::from_millis(600) + LATENCY / 2);
    }
}

#[tokio::test(start_paused = true)]
async fn revocation_takes_effect_in_a_minute_while_the_table_takes_350_ms() {
    let stack = Stack::start(of_key_table(slow(350)));
    let key = stack.key_with(2, |_| {});
    stack.publish(&[(&key, key_entry())], earlier(3600));
    assert_eq!(stack.status(&key, NOW).await, 200);
    stack.key_with(2, |entry| entry.revoked_at = Some(NOW));
    // The snapshot is read again, too, and the table responds before S3.
    let (status, took) = stack.timed(stack.status(&key, later(60))).await;
    assert_eq!(status, 401);
    assert_eq!(took, TABLE_HEAD_START + LATENCY / 2);
}
