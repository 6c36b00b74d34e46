//! When a process reads the snapshot, and when it asks the key table.

use std::time::Duration;

use model::key_entry::KeyEntry;
use simulator::aws::faults::{Fault, Target};

use crate::support::clock::{NOW, earlier, later};
use crate::support::key_sources::{DENIED, KEY, OUTAGE, everywhere, of_s3};
use crate::support::request_builder::RequestBuilder;
use crate::support::stack::{LATENCY, Stack, key_entry, slow};

/// How long one look-up waits for the snapshot.
const SNAPSHOT_WAIT: Duration = Duration::from_secs(1);

/// How long S3 has for the response to a read before the read is hedged.
const HEDGE_READ_AFTER: Duration = Duration::from_millis(500);

#[tokio::test(start_paused = true)]
async fn snapshot_that_takes_longer_than_a_lookup_waits_is_used_when_it_is_there() {
    let stack = Stack::with_snapshot([], &key_entry());
    let outage = OUTAGE.always().on(Target::Tables);
    stack.set([outage, of_s3(slow(2_500))]);
    let status = async |seconds| {
        let ping = RequestBuilder::ping().key(KEY).received_at(later(seconds));
        let ping = ping.time_left(Duration::from_millis(1_500));
        stack.request_with_its_key(ping).await.status
    };
    let (first, took) = stack.timed(status(0)).await;
    assert_eq!(first, 503);
    assert_eq!(took, LATENCY + SNAPSHOT_WAIT);
    // For five seconds, look-ups use the snapshot in memory, and wait for no read.
    assert_eq!(status(1).await, 503);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(status(2).await, 200);
    assert_eq!(
        stack.reads_of_snapshot(),
        2,
        "one read, and one beside it, serve all look-ups"
    );
}

#[tokio::test(start_paused = true)]
async fn table_that_denies_access_is_asked_by_each_request_and_one_that_fails_is_not() {
    for (fault, calls) in [(DENIED, 3), (OUTAGE, 1)] {
        let stack = Stack::with_snapshot(everywhere(fault), &key_entry());
        for seconds in 0..3 {
            assert_eq!(stack.status(KEY, later(seconds)).await, 200);
        }
        assert_eq!(stack.calls_of("GetItem"), calls);
        assert_eq!(stack.reads_of_snapshot(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn snapshot_is_read_once_a_minute_and_again_five_seconds_after_a_failure() {
    let stack = Stack::with_snapshot(everywhere(OUTAGE), &key_entry());
    let has_read_at = async |seconds| {
        let before = stack.reads_of_snapshot();
        stack
            .assert_unavailable("an-unknown-key", later(seconds))
            .await;
        stack.reads_of_snapshot() - before == 1
    };
    assert!(has_read_at(0).await);
    assert!(!has_read_at(1).await);
    assert!(!has_read_at(59).await);
    let outage = || OUTAGE.always().on(Target::Tables);
    stack.set([outage(), of_s3(Fault::Status(503))]);
    assert!(has_read_at(61).await);
    assert_eq!(
        stack.status(KEY, later(62)).await,
        200,
        "the snapshot in memory is used"
    );
    assert!(!has_read_at(65).await);
    assert!(has_read_at(67).await);
    stack.set([outage()]);
    assert!(has_read_at(73).await);
    assert!(!has_read_at(132).await);
}

#[tokio::test(start_paused = true)]
async fn snapshot_read_that_hangs_delays_one_lookup_and_none_of_the_next_five_seconds() {
    let stack = Stack::start(everywhere(OUTAGE));
    // Each look-up has a key of its own, because the cache has a key that was found.
    let names = [0, 70, 71, 75, 78].map(|seconds: u64| format!("key-{seconds}"));
    let keys = names.each_ref().map(|name| (&**name, key_entry()));
    stack.publish(&keys, earlier(3600));
    let waits_at = async |seconds: u64| {
        let key = format!("key-{seconds}");
        let status = stack.status(&key, later(seconds));
        let (status, took) = stack.timed(status).await;
        assert_eq!(status, 200, "after {seconds} s");
        took >= SNAPSHOT_WAIT
    };
    assert!(!waits_at(0).await);
    let outage = OUTAGE.always().on(Target::Tables);
    stack.set([outage, of_s3(Fault::Hangs)]);
    assert!(waits_at(70).await, "the snapshot is read again");
    assert!(!waits_at(71).await);
    assert!(!waits_at(75).await);
    assert!(waits_at(78).await, "the five seconds are over");
    assert_eq!(
        stack.reads_of_snapshot(),
        3,
        "the look-ups share a read, and the one beside it"
    );
}

/// The first read is on a connection that is lost without a word, or that is reset.
#[tokio::test(start_paused = true)]
async fn snapshot_read_that_one_connection_loses_costs_no_request() {
    for (fault, later) in [(Fault::Hangs, HEDGE_READ_AFTER), (Fault::Lost, LATENCY)] {
        let stack = Stack::with_snapshot([], &key_entry());
        let outage = OUTAGE.always().on(Target::Tables);
        stack.set([outage, fault.on_call(1).on(Target::S3)]);
        let (status, took) = stack.timed(stack.status(KEY, NOW)).await;
        assert_eq!(status, 200);
        assert_eq!(took, LATENCY + later + LATENCY);
        assert_eq!(stack.reads_of_snapshot(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn key_of_the_snapshot_is_not_looked_up_in_a_failing_table_until_the_snapshot_is_read_again()
{
    let stack = Stack::with_snapshot(everywhere(OUTAGE), &key_entry());
    assert_eq!(stack.status(KEY, NOW).await, 200);
    let reads = stack.reads_of_table();
    for seconds in [1, 20, 58] {
        assert_eq!(stack.status(KEY, later(seconds)).await, 200);
    }
    assert_eq!(stack.reads_of_table(), reads);
    assert_eq!(stack.status(KEY, later(80)).await, 200);
    assert_eq!(stack.reads_of_table(), reads + 1);
    stack.set([]);
    assert_eq!(
        stack.status(KEY, later(160)).await,
        401,
        "the table responds again, and has no such key"
    );
}

#[tokio::test(start_paused = true)]
async fn snapshot_is_asked_first_for_five_seconds_after_the_table_has_failed() {
    let stack = Stack::start(everywhere(OUTAGE));
    let keys = ["first", "second", "third"].map(|key| (key, key_entry()));
    stack.publish(&keys, earlier(3600));
    let took = async |key: &str, seconds| {
        let (status, took) = stack.timed(stack.status(key, later(seconds))).await;
        assert_eq!(status, 200, "{key}");
        took
    };
    let both = LATENCY * 2;
    assert_eq!(took("first", 0).await, both, "the table, and S3");
    assert_eq!(took("second", 4).await, Duration::ZERO, "from memory");
    assert_eq!(took("third", 6).await, LATENCY, "the table is asked again");
}

#[tokio::test(start_paused = true)]
async fn hanging_s3_leaves_the_lookup_to_the_table() {
    let stack = Stack::start([]);
    let hanging = || Fault::Hangs.always().on(Target::Tables);
    stack.set([hanging(), of_s3(Fault::Hangs)]);
    let unavailable = stack.assert_unavailable(KEY, NOW);
    let ((), took) = stack.timed(unavailable).await;
    assert_eq!(took, Duration::from_secs(5));
    assert_eq!(
        stack.reads_of_snapshot(),
        2,
        "it is asked once, and once beside that"
    );
    let key = stack.key_with(2, |_| {});
    let slow = slow(1_500).always().on(Target::Tables);
    stack.set([slow, of_s3(Fault::Hangs)]);
    let (status, took) = stack.timed(stack.status(&key, later(60))).await;
    assert_eq!(status, 200, "a response after the snapshot's time counts");
    assert_eq!(took, Duration::from_millis(1_500) + LATENCY / 2);
}

#[tokio::test(start_paused = true)]
async fn largest_snapshot_is_read_once_and_used() {
    let stack = Stack::start(everywhere(OUTAGE));
    let names: Vec<_> = (0..70_000).map(|n| n.to_string()).collect();
    let entry = |n| KeyEntry {
        key_id: format!("key_{n:0>12}"),
        expires_at: Some(later(3600)),
        ..key_entry()
    };
    let keys: Vec<_> = names.iter().map(|name| (&**name, entry(name))).collect();
    stack.publish(&keys, earlier(3600));
    assert_eq!(stack.status("69999", NOW).await, 200);
    assert_eq!(stack.status("0", NOW).await, 200);
    assert_eq!(stack.reads_of_snapshot(), 1);
}
