//! Which of the key table and the snapshot decides about a key.

use std::time::Duration;

use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use serde_json::json;
use simulator::aws::faults::{CUT_RESPONSE, Fault, Target};

use crate::support::clock::{NOW, earlier, later};
use crate::support::key_sources::{DENIED, KEY, OUTAGE, everywhere, of_s3, revoked, signal};
use crate::support::request_builder::RequestBuilder;
use crate::support::stack::{INVALID, Stack, key_entry};

#[tokio::test(start_paused = true)]
async fn new_process_knows_the_keys_of_the_snapshot_in_every_outage() {
    let faults = [
        Fault::Throttled,
        Fault::ServerError,
        Fault::Status(503),
        Fault::Lost,
        Fault::ResponseReplaced(CUT_RESPONSE),
        Fault::Hangs,
    ];
    for fault in faults {
        let stack = Stack::with_snapshot(everywhere(fault.clone()), &key_entry());
        let response = stack
            .request_with_its_key(signal().key(KEY).received_at(NOW))
            .await;
        assert_eq!(response.status, 200, "{fault:?}: {response:?}");
        assert_eq!(response.json()["deferred"], 1, "{fault:?}: {response:?}");
        assert_eq!(stack.take_messages().len(), 1);
        stack.assert_unavailable("an-unknown-key", later(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn restricted_expired_or_revoked_key_of_the_snapshot_is_refused() {
    let restricted = KeyEntry {
        only: Some(Endpoint::Customers),
        ..key_entry()
    };
    let expired = KeyEntry {
        expires_at: Some(earlier(7200)),
        ..key_entry()
    };
    let response_to_signal = async |entry: &KeyEntry| {
        let stack = Stack::with_snapshot(everywhere(OUTAGE), entry);
        stack
            .request_with_its_key(signal().key(KEY).received_at(NOW))
            .await
    };
    let response = response_to_signal(&restricted).await;
    response.assert_problem(403, "forbidden");
    let response = response_to_signal(&expired).await;
    response.assert_problem(401, "unauthorized");
    let response = response_to_signal(&revoked(key_entry())).await;
    response.assert_problem(401, "unauthorized");
}

#[tokio::test(start_paused = true)]
async fn key_that_a_later_snapshot_has_revoked_is_rejected_when_it_leaves_the_cache() {
    let stack = Stack::start([]);
    let key = stack.read_key(|_| {}).await;
    stack.publish(&[(&*key, revoked(key_entry()))], later(30));
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

#[tokio::test(start_paused = true)]
async fn revocation_in_an_earlier_snapshot_counts() {
    let stack = Stack::start([]);
    let key = stack.read_key(|_| {}).await;
    stack.publish(&[(&*key, revoked(key_entry()))], earlier(30));
    assert_eq!(stack.status(&key, later(60)).await, 401);
}

#[tokio::test(start_paused = true)]
async fn revocation_in_the_snapshot_in_memory_counts_after_an_older_one_is_restored() {
    let stack = Stack::with_snapshot(everywhere(OUTAGE), &revoked(key_entry()));
    assert_eq!(stack.status(KEY, NOW).await, 401);
    let without_revocation = [(KEY, key_entry())];
    let written_at = earlier(7200);
    let restored_at = later(30);
    stack.publish_as(&without_revocation, written_at, restored_at);
    assert_eq!(stack.status(KEY, later(61)).await, 401);
}

#[tokio::test(start_paused = true)]
async fn table_decides_over_an_earlier_snapshot() {
    // The time of a snapshot is the earlier one of the time in it and of the time that S3 gives.
    for (written_at, last_modified) in [(earlier(30), later(30)), (later(30), earlier(30))] {
        let stack = Stack::start([]);
        let key = stack.read_key(|_| {}).await;
        let restricted = KeyEntry {
            only: Some(Endpoint::Signals),
            ..key_entry()
        };
        let entries = [(&*key, restricted)];
        stack.publish_as(&entries, written_at, last_modified);
        let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
        let customer = customer.key(&key).received_at(later(60));
        let response = stack.request_with_its_key(customer).await;
        assert_eq!(response.status, 200, "{response:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn key_that_the_table_did_not_have_after_an_earlier_snapshot_cannot_be_checked() {
    let stack = Stack::start([]);
    let deleted = "a-key-that-is-in-the-snapshot-only";
    assert_eq!(stack.status(deleted, NOW).await, 401);
    stack.set(everywhere(OUTAGE));
    stack.publish(&[(deleted, key_entry())], earlier(30));
    stack.assert_unavailable(deleted, later(10)).await;
}

#[tokio::test(start_paused = true)]
async fn key_that_was_read_stays_valid_as_long_as_the_table_is_unavailable() {
    for fault in [None, Some(Fault::ServerError), Some(Fault::Status(403))] {
        let stack = Stack::start([]);
        let key = stack
            .read_key(|entry| entry.expires_at = Some(later(90_000)))
            .await;
        let of_s3 = fault.clone().map(of_s3);
        let outage = OUTAGE.always().on(Target::Tables);
        stack.set([outage].into_iter().chain(of_s3));
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

#[tokio::test(start_paused = true)]
async fn table_that_refuses_to_be_read_leaves_the_decision_to_the_snapshot() {
    for fault in [
        OUTAGE,
        DENIED,
        INVALID,
        Fault::Refused("ExpiredTokenException"),
    ] {
        let stack = Stack::start([]);
        let key = stack.read_key(|_| {}).await;
        let entries = [(KEY, key_entry()), (&*key, revoked(key_entry()))];
        stack.publish(&entries, later(30));
        stack.set(everywhere(fault.clone()));
        assert_eq!(stack.status(KEY, later(60)).await, 200, "{fault:?}");
        assert_eq!(stack.status(&key, later(61)).await, 401, "{fault:?}");
        stack.assert_unavailable("an-unknown-key", later(62)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn expiry_in_a_snapshot_of_the_second_of_the_last_read_counts() {
    let expired = KeyEntry {
        expires_at: Some(later(30)),
        ..key_entry()
    };
    let stack = Stack::start([]);
    let key = stack.key_with(2, |_| {});
    let read_at = NOW.plus(Duration::from_millis(300));
    assert_eq!(stack.status(&key, read_at).await, 200);
    stack.set(everywhere(OUTAGE));
    // `Last-Modified` has no milliseconds, so the snapshot may be newer than the read.
    stack.publish(&[(&*key, expired)], NOW);
    assert_eq!(stack.status(&key, later(70)).await, 401);
}

#[tokio::test(start_paused = true)]
async fn expiry_in_a_snapshot_of_the_second_before_the_last_read_does_not_count() {
    let expired = KeyEntry {
        expires_at: Some(later(30)),
        ..key_entry()
    };
    let stack = Stack::start([]);
    let key = stack.read_key(|_| {}).await;
    stack.publish(&[(&*key, expired)], earlier(1));
    assert_eq!(stack.status(&key, later(70)).await, 200);
}
