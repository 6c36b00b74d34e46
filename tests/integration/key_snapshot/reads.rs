//! When a process reads the snapshot, and when it asks the key table.

use std::time::{Duration, Instant};

use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use testkit::fake_s3::S3Fault;
use testkit::fault_proxy::{Fault, Plan};
use testkit::{RequestBuilder, key_entry};

use crate::support::clock::{NOW, earlier, later};
use crate::support::snapshot_stack::{KEY, OUTAGE, SnapshotStack};

#[tokio::test]
async fn snapshot_that_takes_longer_than_a_look_up_waits_is_used_by_the_next_one() {
    let stack = SnapshotStack::with_snapshot(OUTAGE.always(), &key_entry("shop")).await;
    stack
        .s3
        .set_fault(Some(S3Fault::Slow(Duration::from_millis(2_500))));
    let ping = |seconds| {
        RequestBuilder::ping()
            .key(KEY)
            .received_at(later(seconds))
            .time_left(Duration::from_millis(1_500))
    };
    let first = stack.app.send(ping(0)).await;
    assert_eq!(first.status, 503);
    let mut seconds = 0;
    loop {
        seconds += 1;
        let response = stack.app.send(ping(seconds)).await;
        if response.status == 200 {
            break;
        }
        assert!(seconds < 4, "the snapshot is never used: {response:?}");
    }
    assert_eq!(
        stack.s3.take_requests().len(),
        1,
        "one read serves all look-ups"
    );
}

#[tokio::test]
async fn largest_snapshot_is_read_once_and_used() {
    let stack = SnapshotStack::start(OUTAGE.always()).await;
    let entry = |n| KeyEntry {
        key_id: format!("key_{n:012}"),
        expires_at: Some(later(3600)),
        ..key_entry("shop")
    };
    let keys: Vec<_> = (0..70_000)
        .map(|n| (KeyHash::from_key(n.to_string()), entry(n)))
        .collect();
    stack.s3.publish(&keys, earlier(3600));
    let mut requests = 0;
    while stack.status("69999", NOW).await == 503 {
        requests += 1;
        assert!(requests < 100, "the snapshot is never read");
    }
    assert_eq!(stack.status("0", NOW).await, 200);
    assert_eq!(stack.s3.take_requests().len(), 1);
}

#[tokio::test]
async fn snapshot_is_read_once_a_minute_and_again_five_seconds_after_a_failure() {
    let stack = SnapshotStack::with_snapshot(OUTAGE.always(), &key_entry("shop")).await;
    let reads_at = async |seconds| {
        stack
            .assert_unavailable("an-unknown-key", later(seconds))
            .await;
        stack.s3.take_requests().len()
    };
    assert_eq!(reads_at(0).await, 1);
    assert_eq!(reads_at(1).await, 0);
    assert_eq!(reads_at(59).await, 0);
    stack.s3.set_fault(Some(S3Fault::Unavailable));
    assert_eq!(reads_at(70).await, 1);
    assert_eq!(
        stack.status(KEY, later(71)).await,
        200,
        "the snapshot in memory is used"
    );
    assert_eq!(reads_at(72).await, 0);
    assert_eq!(reads_at(80).await, 1);
    stack.s3.set_fault(None);
    assert_eq!(reads_at(90).await, 1);
    assert_eq!(reads_at(140).await, 0);
}

#[tokio::test]
async fn snapshot_read_that_hangs_delays_one_look_up_and_none_of_the_next_five_seconds() {
    /// How long a look-up waits for the snapshot.
    const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
    let stack = SnapshotStack::start(OUTAGE.always()).await;
    // Each look-up has a key of its own, because the cache has a key that was found.
    let name_at = |seconds: u64| format!("key-{seconds}");
    let keys =
        [0, 70, 71, 75, 78].map(|seconds| (KeyHash::from_key(name_at(seconds)), key_entry("shop")));
    stack.s3.publish(&keys, earlier(3600));
    let waits_at = async |seconds| {
        let started = Instant::now();
        let status = stack.status(&name_at(seconds), later(seconds)).await;
        assert_eq!(status, 200, "after {seconds} s");
        started.elapsed() >= SNAPSHOT_TIMEOUT
    };
    assert!(!waits_at(0).await);
    stack.s3.set_fault(Some(S3Fault::Hanging));
    assert!(waits_at(70).await, "the snapshot is read again");
    assert!(!waits_at(71).await);
    assert!(!waits_at(75).await);
    assert!(waits_at(78).await, "the five seconds are over");
    assert_eq!(
        stack.s3.take_requests().len(),
        2,
        "the look-ups after 70 s share a read"
    );
}

#[tokio::test]
async fn key_of_the_snapshot_is_not_looked_up_in_a_failing_table_until_the_snapshot_is_read_again()
{
    let stack = SnapshotStack::with_snapshot(OUTAGE.always(), &key_entry("shop")).await;
    assert_eq!(stack.status(KEY, NOW).await, 200);
    let reads = stack.reads_of_table();
    for seconds in [1, 20, 58] {
        assert_eq!(stack.status(KEY, later(seconds)).await, 200);
    }
    assert_eq!(stack.reads_of_table(), reads);
    assert_eq!(stack.status(KEY, later(80)).await, 200);
    assert!(stack.reads_of_table() > reads);
    stack.proxy.set(Plan::none());
    assert_eq!(
        stack.status(KEY, later(160)).await,
        401,
        "the table answers again, and has no such key"
    );
}

#[tokio::test]
async fn snapshot_is_asked_first_for_a_while_after_the_table_has_failed() {
    let stack = SnapshotStack::start(OUTAGE.always()).await;
    let keys = ["first", "second", "third"].map(|key| (KeyHash::from_key(key), key_entry("shop")));
    stack.s3.publish(&keys, earlier(3600));
    assert_eq!(stack.status("first", NOW).await, 200);
    let reads = stack.reads_of_table();
    assert!(reads > 0, "the table is asked first as long as it answers");
    assert_eq!(stack.status("second", later(2)).await, 200);
    assert_eq!(stack.reads_of_table(), reads);
    assert_eq!(stack.status("third", later(60)).await, 200);
    assert!(stack.reads_of_table() > reads, "the table is asked again");
}

#[tokio::test]
async fn hanging_s3_leaves_the_look_up_to_the_table() {
    let stack = SnapshotStack::start(Fault::Hanging.always()).await;
    stack.s3.set_fault(Some(S3Fault::Hanging));
    stack.assert_unavailable(KEY, NOW).await;
    assert_eq!(stack.s3.take_requests().len(), 1, "it is asked once");
    let key = stack.app.key("shop").await;
    let slow = Fault::Slow(Duration::from_millis(3_500))
        .on_call(1)
        .for_operation("GetItem");
    stack.proxy.set(slow);
    assert_eq!(
        stack.status(&key, later(60)).await,
        200,
        "an answer that comes after the snapshot's time counts"
    );
}
