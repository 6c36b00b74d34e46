//! Which of the key table and the snapshot decides about a key.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use model::api_key::{Endpoint, KeyHash};
use model::key_entry::KeyEntry;
use serde_json::json;
use service::telemetry::log::Log;
use testkit::fake_s3::S3Fault;
use testkit::fault_proxy::{Fault, Plan};
use testkit::{RequestBuilder, key_entry, table_name};

use crate::support::clock::{NOW, earlier, later};
use crate::support::items::set_key_attribute;
use crate::support::logs::{log_of, request_lines};
use crate::support::snapshot_stack::{KEY, OUTAGE, SnapshotStack, revoked, signal};

#[tokio::test]
async fn new_process_knows_the_keys_of_the_snapshot_in_every_outage() {
    let faults = [
        Fault::Throttled,
        Fault::InternalServerError,
        Fault::Status(503),
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::Hanging,
    ];
    join_all(faults.map(async |fault| {
        let stack = SnapshotStack::with_snapshot(fault.always(), &key_entry("shop")).await;
        let response = stack.app.send(signal().key(KEY).received_at(NOW)).await;
        assert_eq!(response.status, 200, "{fault:?}: {response:?}");
        assert_eq!(response.json()["deferred"], 1, "{fault:?}: {response:?}");
        assert_eq!(stack.sqs.take_messages().len(), 1);
        stack.assert_unavailable("an-unknown-key", later(1)).await;
    }))
    .await;
}

#[tokio::test]
async fn restricted_expired_or_revoked_key_of_the_snapshot_is_refused() {
    let restricted = KeyEntry {
        only: Some(Endpoint::Customers),
        ..key_entry("shop")
    };
    let expired = KeyEntry {
        expires_at: Some(earlier(7200)),
        ..key_entry("shop")
    };
    let response_to_signal = async |entry: &KeyEntry| {
        let stack = SnapshotStack::with_snapshot(OUTAGE.always(), entry).await;
        stack.app.send(signal().key(KEY).received_at(NOW)).await
    };
    let response = response_to_signal(&restricted).await;
    response.assert_problem(403, "forbidden");
    let response = response_to_signal(&expired).await;
    response.assert_problem(401, "unauthorized");
    let response = response_to_signal(&revoked(key_entry("shop"))).await;
    response.assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn key_that_a_later_snapshot_has_revoked_is_rejected_when_it_leaves_the_cache() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &revoked(key_entry("shop")), later(30));
    assert_eq!(
        stack.status(&key, later(59)).await,
        200,
        "the cache is used first"
    );
    stack
        .ping(&key, later(60))
        .await
        .assert_problem(401, "unauthorized");
}

#[tokio::test]
async fn key_that_only_a_later_snapshot_has_is_accepted() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let unknown = "a-key-that-was-used-before-it-was-created";
    assert_eq!(stack.status(unknown, NOW).await, 401);
    stack.proxy.set(OUTAGE.always());
    stack.publish(unknown, &key_entry("shop"), later(5));
    assert_eq!(stack.status(unknown, later(10)).await, 200);
}

#[tokio::test]
async fn key_that_a_later_snapshot_does_not_have_cannot_be_checked() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish("another-key", &key_entry("shop"), later(30));
    stack.assert_unavailable(&key, later(60)).await;
}

#[tokio::test]
async fn revocation_in_an_earlier_snapshot_counts() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &revoked(key_entry("shop")), earlier(30));
    assert_eq!(stack.status(&key, later(60)).await, 401);
}

#[tokio::test]
async fn revocation_in_the_table_counts_after_a_later_snapshot_without_it() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack
        .app
        .key_with("shop", |entry| entry.revoked_at = Some(NOW))
        .await;
    assert_eq!(stack.status(&key, NOW).await, 401);
    // From here on, the table is unavailable.
    stack.read_key(|_| {}).await;
    stack.publish(&key, &key_entry("shop"), later(30));
    assert_eq!(stack.status(&key, later(60)).await, 401);
}

#[tokio::test]
async fn revocation_in_the_snapshot_in_memory_counts_after_an_older_one_is_restored() {
    let stack = SnapshotStack::with_snapshot(OUTAGE.always(), &revoked(key_entry("shop"))).await;
    assert_eq!(stack.status(KEY, NOW).await, 401);
    let without_revocation = [(KeyHash::from_key(KEY), key_entry("shop"))];
    let written_at = earlier(7200);
    let restored_at = later(30);
    stack
        .s3
        .publish_as(&without_revocation, written_at, restored_at);
    assert_eq!(stack.status(KEY, later(61)).await, 401);
}

#[tokio::test]
async fn table_decides_over_an_earlier_snapshot() {
    // The time of a snapshot is the earlier one of the time in it and of the time that S3 gives.
    for (written_at, last_modified) in [(earlier(30), later(30)), (later(30), earlier(30))] {
        let stack = SnapshotStack::start(Plan::none()).await;
        let key = stack.read_key(|_| {}).await;
        let restricted = KeyEntry {
            only: Some(Endpoint::Signals),
            ..key_entry("shop")
        };
        let entries = [(KeyHash::from_key(&key), restricted)];
        stack.s3.publish_as(&entries, written_at, last_modified);
        let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
        let response = stack
            .app
            .send(customer.key(&key).received_at(later(60)))
            .await;
        assert_eq!(response.status, 200, "{response:?}");
    }
}

#[tokio::test]
async fn key_that_the_table_did_not_have_after_an_earlier_snapshot_cannot_be_checked() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let deleted = "a-key-that-is-in-the-snapshot-only";
    assert_eq!(stack.status(deleted, NOW).await, 401);
    stack.proxy.set(OUTAGE.always());
    stack.publish(deleted, &key_entry("shop"), earlier(30));
    stack.assert_unavailable(deleted, later(10)).await;
}

#[tokio::test]
async fn key_that_was_read_stays_valid_as_long_as_the_table_is_unavailable() {
    for fault in [None, Some(S3Fault::Unavailable), Some(S3Fault::Forbidden)] {
        let stack = SnapshotStack::start(Plan::none()).await;
        let key = stack
            .read_key(|entry| entry.expires_at = Some(later(90_000)))
            .await;
        stack.s3.set_fault(fault);
        for seconds in [60, 899, 900, 36_000, 89_999] {
            assert_eq!(
                stack.status(&key, later(seconds)).await,
                200,
                "after {seconds} s, {fault:?}"
            );
        }
        assert_eq!(stack.status(&key, later(90_000)).await, 401, "{fault:?}");
    }
}

#[tokio::test]
async fn table_that_refuses_to_be_read_leaves_the_decision_to_the_snapshot() {
    for fault in [Fault::AccessDenied, Fault::Invalid, Fault::ExpiredToken] {
        let stack = SnapshotStack::start(Plan::none()).await;
        let key = stack.read_key(|_| {}).await;
        let entries = [
            (KeyHash::from_key(KEY), key_entry("shop")),
            (KeyHash::from_key(&key), revoked(key_entry("shop"))),
        ];
        stack.s3.publish(&entries, later(30));
        stack.proxy.set(fault.always());
        assert_eq!(stack.status(KEY, later(60)).await, 200, "{fault:?}");
        assert_eq!(stack.status(&key, later(61)).await, 401, "{fault:?}");
        stack.assert_unavailable("an-unknown-key", later(62)).await;
    }
}

#[tokio::test]
async fn table_that_does_not_exist_leaves_the_decision_to_the_snapshot() {
    let stack = SnapshotStack::with_snapshot(Plan::none(), &key_entry("shop")).await;
    stack
        .app
        .client
        .delete_table()
        .table_name(table_name("ApiKeysTable"))
        .send()
        .await
        .unwrap();
    assert_eq!(stack.status(KEY, NOW).await, 200);
}

#[tokio::test]
async fn expiry_in_a_snapshot_of_the_second_of_the_last_read_counts() {
    let expired = KeyEntry {
        expires_at: Some(later(30)),
        ..key_entry("shop")
    };
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.app.key("shop").await;
    let read_at = NOW.plus(Duration::from_millis(300));
    assert_eq!(stack.status(&key, read_at).await, 200);
    stack.proxy.set(OUTAGE.always());
    // `Last-Modified` has no milliseconds, so the snapshot may be newer than the read.
    stack.publish(&key, &expired, NOW);
    assert_eq!(stack.status(&key, later(70)).await, 401);
}

#[tokio::test]
async fn expiry_in_a_snapshot_of_the_second_before_the_last_read_does_not_count() {
    let expired = KeyEntry {
        expires_at: Some(later(30)),
        ..key_entry("shop")
    };
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &expired, earlier(1));
    assert_eq!(stack.status(&key, later(70)).await, 200);
}

#[tokio::test]
async fn snapshot_older_than_the_one_in_memory_does_not_replace_it() {
    let stack = SnapshotStack::start(OUTAGE.always()).await;
    stack.publish("first", &key_entry("shop"), earlier(10));
    assert_eq!(stack.status("first", NOW).await, 200);
    // An operator restores an older version of the object.
    stack.publish("second", &key_entry("shop"), earlier(7200));
    assert_eq!(stack.status("second", later(70)).await, 503);
    assert_eq!(stack.status("first", later(75)).await, 200);
}

/// A table that answers long after the snapshot has decided, and before a call times out.
fn slow_table() -> Plan {
    Fault::Slow(Duration::from_millis(1_500))
        .always()
        .for_operation("GetItem")
        .into()
}

#[tokio::test]
async fn slow_table_leaves_the_decision_to_the_snapshot_and_its_answer_counts_when_it_comes() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack
        .app
        .key_with("shop", |entry| entry.revoked_at = Some(earlier(5)))
        .await;
    stack.publish(&key, &key_entry("shop"), earlier(3600));
    stack.proxy.set(slow_table());
    assert_eq!(stack.status(&key, NOW).await, 200);
    let started = Instant::now();
    // The entry of the snapshot would be fresh for five seconds.
    while stack.status(&key, later(1)).await == 200 {
        assert!(started.elapsed() < Duration::from_secs(30));
        tokio::task::yield_now().await;
    }
    assert_eq!(stack.status(&key, later(1)).await, 401);
}

#[tokio::test]
async fn slow_table_is_not_counted_as_unavailable_and_a_silent_one_is() {
    let ((), log) = log_of(async |log: Log| {
        let mut stack = SnapshotStack::with_snapshot(slow_table(), &key_entry("shop")).await;
        stack.app.log = log;
        assert_eq!(stack.status(KEY, NOW).await, 200);
        stack.proxy.set(Fault::Hanging.always());
        let response = stack.app.send(signal().key(KEY).received_at(later(70)));
        assert_eq!(response.await.json()["deferred"], 1);
    })
    .await;
    let counted: Vec<_> = request_lines(&log)
        .iter()
        .map(|line| line["KeyTableUnavailable"].as_u64())
        .collect();
    assert_eq!(counted, [None, Some(1)]);
}

#[tokio::test]
async fn revocation_in_the_snapshot_alone_counts_after_the_answer_of_a_slow_table() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.app.key("shop").await;
    stack.publish(&key, &revoked(key_entry("shop")), earlier(3600));
    stack.proxy.set(slow_table());
    assert_eq!(stack.status(&key, NOW).await, 401);
    let calls = stack.reads_of_table();
    let ping = stack.ping("an-unknown-key", later(1)).await;
    assert_eq!(ping.status, 401, "the table has answered both look-ups");
    assert!(stack.reads_of_table() > calls);
    assert_eq!(stack.status(&key, later(2)).await, 401);
}

#[tokio::test]
async fn revocation_in_the_snapshot_alone_counts_when_the_table_answers_before_a_slow_s3() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.app.key("shop").await;
    let not_in_the_cache = stack.app.key("shop").await;
    let entries =
        [&key, &not_in_the_cache].map(|key| (KeyHash::from_key(key), revoked(key_entry("shop"))));
    stack.s3.publish(&entries, earlier(3600));
    stack.proxy.set(slow_table());
    assert_eq!(stack.status(&key, NOW).await, 401);
    stack.s3.set_fault(Some(S3Fault::Hanging));
    // The look-up waits for S3 from 350 ms on, for a second.
    let slow = Fault::Slow(Duration::from_millis(600));
    stack.proxy.set(slow.always().for_operation("GetItem"));
    assert_eq!(stack.status(&key, later(70)).await, 401);
    assert_eq!(stack.status(&not_in_the_cache, later(140)).await, 401);
}

#[tokio::test]
async fn revocation_takes_effect_in_a_minute_while_the_table_takes_350_ms() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let key = stack.app.key("shop").await;
    stack.publish(&key, &key_entry("shop"), earlier(3600));
    let slow = Fault::Slow(Duration::from_millis(350));
    stack.proxy.set(slow.always().for_operation("GetItem"));
    assert_eq!(stack.status(&key, NOW).await, 200);
    set_key_attribute(&stack.app, &key, "revokedAt", &NOW.to_string()).await;
    // One look-up may be decided by the snapshot; the answer of the table counts from then on.
    let started = Instant::now();
    while stack.status(&key, later(60)).await == 200 {
        assert!(started.elapsed() < Duration::from_secs(30));
        tokio::task::yield_now().await;
    }
    assert_eq!(stack.status(&key, later(60)).await, 401);
}
