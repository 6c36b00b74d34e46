//! Which keys are valid while the key table does not answer, where there is a key snapshot
//! (docs/api.md, API keys).

mod hostile;
mod processes;

use std::time::Duration;

use emulator::sqs::FakeSqs;
use futures_util::future::join_all;
use model::api_key::{Endpoint, KeyHash};
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::fake_s3::{FakeS3, S3Fault};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Endpoints, RequestBuilder, Tables, TestApp, TestResponse, key_record};

const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_000);

/// A failure that DynamoDB answers at once, so that a test need not wait for it.
const OUTAGE: Fault = Fault::InternalServerError;

const KEY: &str = "intake_sk_of_the_snapshot";

fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn earlier(seconds: u64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() - seconds * 1000)
}

/// An app with a snapshot, and a proxy before all its tables.
struct Stack {
    app: TestApp,
    proxy: FaultProxy,
    s3: FakeS3,
    sqs: FakeSqs,
}

impl Stack {
    /// A stack without a key, in a process that has read none.
    async fn start(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let proxy = FaultProxy::start(&emulator.endpoint(), plan).await.unwrap();
        let (s3, sqs) = (
            FakeS3::start().await.unwrap(),
            FakeSqs::start().await.unwrap(),
        );
        let dynamodb = proxy.endpoint();
        let endpoints = Endpoints {
            keys: &dynamodb,
            others: &dynamodb,
            sqs: Some(&sqs),
            s3: Some(&s3),
        };
        let app = TestApp::at(emulator, &endpoints, None);
        Self {
            app,
            proxy,
            s3,
            sqs,
        }
    }

    /// A stack with this key in its snapshot, and in no table.
    async fn with_snapshot(plan: impl Into<Plan>, record: &KeyEntry) -> Self {
        let stack = Self::start(plan).await;
        stack.publish(KEY, record, earlier(3600));
        stack
    }

    fn publish(&self, key: &str, record: &KeyEntry, at: Timestamp) {
        self.s3.publish(&[(KeyHash::of(key), record.clone())], at);
    }

    async fn ping(&self, key: &str, at: Timestamp) -> TestResponse {
        self.app.send(RequestBuilder::ping().key(key).at(at)).await
    }

    async fn status(&self, key: &str, at: Timestamp) -> u16 {
        self.ping(key, at).await.status
    }

    /// A key of the table that this process has read at `NOW`; the table is silent since.
    async fn read_key(&self, change: impl FnOnce(&mut KeyEntry)) -> String {
        let key = self.app.key_with("shop", change).await;
        self.ping(&key, NOW).await;
        self.proxy.set(OUTAGE.always());
        key
    }

    fn reads_of_table(&self) -> u64 {
        self.proxy.counts().of("GetItem")
    }
}

fn signal() -> RequestBuilder {
    RequestBuilder::signals(
        json!({"signals": [{"customerId": "c", "eventType": "view", "data": {}}]}),
    )
}

fn revoked(record: KeyEntry) -> KeyEntry {
    KeyEntry {
        revoked_at: Some(earlier(7200)),
        ..record
    }
}

#[tokio::test]
async fn new_process_knows_the_keys_of_the_snapshot_in_every_outage() {
    let faults = [
        Fault::Throttled,
        Fault::InternalServerError,
        Fault::ServiceUnavailable,
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::Stall,
    ];
    join_all(faults.map(async |fault| {
        let stack = Stack::with_snapshot(fault.always(), &key_record("shop")).await;
        let response = stack.app.send(signal().key(KEY).at(NOW)).await;
        assert_eq!(
            (response.status, &response.json()["deferred"]),
            (200, &json!(1)),
            "{fault:?}: {}",
            response.text
        );
        assert_eq!(stack.sqs.take_messages().len(), 1);
        stack
            .ping("an-unknown-key", later(1))
            .await
            .assert_problem(503, "storage-unavailable");
    }))
    .await;
}

#[tokio::test]
async fn restriction_and_end_of_a_key_of_the_snapshot_count() {
    let restricted = KeyEntry {
        only: Some(Endpoint::Customers),
        ..key_record("shop")
    };
    let expired = KeyEntry {
        expires_at: Some(earlier(7200)),
        ..key_record("shop")
    };
    for (record, status, code) in [
        (restricted, 403, "forbidden"),
        (expired, 401, "unauthorized"),
        (revoked(key_record("shop")), 401, "unauthorized"),
    ] {
        let stack = Stack::with_snapshot(OUTAGE.always(), &record).await;
        stack
            .app
            .send(signal().key(KEY).at(NOW))
            .await
            .assert_problem(status, code);
    }
}

#[tokio::test]
async fn later_snapshot_decides_over_the_table() {
    let stack = Stack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &revoked(key_record("shop")), later(30));
    assert_eq!(
        stack.status(&key, later(59)).await,
        200,
        "the cache is used first"
    );
    stack
        .ping(&key, later(60))
        .await
        .assert_problem(401, "unauthorized");

    let stack = Stack::start(Plan::none()).await;
    let unknown = "a-key-that-was-used-before-it-was-created";
    assert_eq!(stack.status(unknown, NOW).await, 401);
    stack.proxy.set(OUTAGE.always());
    stack.publish(unknown, &key_record("shop"), later(5));
    assert_eq!(stack.status(unknown, later(10)).await, 200);

    let stack = Stack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish("another-key", &key_record("shop"), later(30));
    stack
        .ping(&key, later(60))
        .await
        .assert_problem(503, "storage-unavailable");
}

#[tokio::test]
async fn revocation_wins_whatever_its_time() {
    let stack = Stack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &revoked(key_record("shop")), earlier(30));
    assert_eq!(
        stack.status(&key, later(60)).await,
        401,
        "of an earlier snapshot"
    );

    let stack = Stack::start(Plan::none()).await;
    let key = stack.read_key(|record| record.revoked_at = Some(NOW)).await;
    stack.publish(&key, &key_record("shop"), later(30));
    assert_eq!(
        stack.status(&key, later(60)).await,
        401,
        "of the table, before a snapshot that was restored"
    );

    let stack = Stack::with_snapshot(OUTAGE.always(), &revoked(key_record("shop"))).await;
    assert_eq!(stack.status(KEY, NOW).await, 401);
    // An operator restores an older version of the object.
    stack.s3.publish_as(
        &[(KeyHash::of(KEY), key_record("shop"))],
        earlier(7200),
        later(30),
    );
    assert_eq!(
        stack.status(KEY, later(61)).await,
        401,
        "of the snapshot in memory"
    );
}

#[tokio::test]
async fn table_decides_over_an_earlier_snapshot() {
    // The time of a snapshot is the earlier one of what it says itself and what S3 says.
    for (written_at, last_modified) in [(earlier(30), later(30)), (later(30), earlier(30))] {
        let stack = Stack::start(Plan::none()).await;
        let key = stack.read_key(|_| {}).await;
        let restricted = KeyEntry {
            only: Some(Endpoint::Signals),
            ..key_record("shop")
        };
        stack.s3.publish_as(
            &[(KeyHash::of(&key), restricted)],
            written_at,
            last_modified,
        );
        let customer = RequestBuilder::customer(json!({"customerId": "c", "customerData": {}}));
        assert_eq!(
            stack
                .app
                .send(customer.key(&key).at(later(60)))
                .await
                .status,
            200
        );
    }

    let stack = Stack::start(Plan::none()).await;
    let deleted = "a-key-that-is-in-the-snapshot-only";
    assert_eq!(stack.status(deleted, NOW).await, 401);
    stack.proxy.set(OUTAGE.always());
    stack.publish(deleted, &key_record("shop"), earlier(30));
    stack
        .ping(deleted, later(10))
        .await
        .assert_problem(503, "storage-unavailable");
}

#[tokio::test]
async fn key_that_was_read_stays_valid_as_long_as_the_table_is_silent() {
    for fault in [None, Some(S3Fault::Failing), Some(S3Fault::Forbidden)] {
        let stack = Stack::start(Plan::none()).await;
        let key = stack
            .read_key(|record| record.expires_at = Some(later(90_000)))
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
        let stack = Stack::start(Plan::none()).await;
        let key = stack.read_key(|_| {}).await;
        stack.s3.publish(
            &[
                (KeyHash::of(KEY), key_record("shop")),
                (KeyHash::of(&key), revoked(key_record("shop"))),
            ],
            later(30),
        );
        stack.proxy.set(fault.always());
        let statuses = [
            stack.status(KEY, later(60)).await,
            stack.status(&key, later(61)).await,
        ];
        assert_eq!(statuses, [200, 401], "{fault:?}");
        stack
            .ping("an-unknown-key", later(62))
            .await
            .assert_problem(503, "storage-unavailable");
    }
    let stack = Stack::with_snapshot(Plan::none(), &key_record("shop")).await;
    stack
        .app
        .client
        .delete_table()
        .table_name(Tables::name("ApiKeysTable"))
        .send()
        .await
        .unwrap();
    assert_eq!(stack.status(KEY, NOW).await, 200);
}

#[tokio::test]
async fn snapshot_that_takes_longer_than_a_look_up_waits_is_used_by_the_next_one() {
    let stack = Stack::with_snapshot(OUTAGE.always(), &key_record("shop")).await;
    stack
        .s3
        .set_fault(Some(S3Fault::Slow(Duration::from_millis(2_500))));
    let ping = |seconds| {
        RequestBuilder::ping()
            .key(KEY)
            .at(later(seconds))
            .within(Duration::from_millis(1_500))
    };
    let mut statuses = Vec::new();
    while statuses.last() != Some(&200) {
        assert!(statuses.len() < 4, "{statuses:?}");
        statuses.push(stack.app.send(ping(statuses.len() as u64)).await.status);
    }
    assert_eq!(
        (statuses[0], stack.s3.take_requests().len()),
        (503, 1),
        "one read serves all look-ups"
    );
}

#[tokio::test]
async fn largest_snapshot_is_read_once_and_used() {
    let stack = Stack::start(OUTAGE.always()).await;
    let entry = |n| KeyEntry {
        key_id: format!("key_{n:012}"),
        expires_at: Some(later(3600)),
        ..key_record("shop")
    };
    let keys: Vec<_> = (0..70_000)
        .map(|n| (KeyHash::of(n.to_string()), entry(n)))
        .collect();
    stack.s3.publish(&keys, earlier(3600));
    let mut requests = 0;
    while stack.status("69999", NOW).await == 503 {
        requests += 1;
        assert!(requests < 20, "the snapshot is never read");
    }
    assert_eq!(
        (stack.status("0", NOW).await, stack.s3.take_requests().len()),
        (200, 1)
    );
}

#[tokio::test]
async fn snapshot_is_read_once_a_minute_and_again_five_seconds_after_a_failure() {
    let stack = Stack::with_snapshot(OUTAGE.always(), &key_record("shop")).await;
    let reads_at = async |seconds| {
        stack
            .ping("an-unknown-key", later(seconds))
            .await
            .assert_problem(503, "storage-unavailable");
        stack.s3.take_requests().len()
    };
    assert_eq!(reads_at(0).await, 1);
    assert_eq!([reads_at(1).await, reads_at(59).await], [0, 0]);
    stack.s3.set_fault(Some(S3Fault::Failing));
    assert_eq!(reads_at(70).await, 1);
    assert_eq!(
        stack.status(KEY, later(71)).await,
        200,
        "the snapshot in memory is used"
    );
    assert_eq!([reads_at(72).await, reads_at(80).await], [0, 1]);
    stack.s3.set_fault(None);
    assert_eq!([reads_at(90).await, reads_at(140).await], [1, 0]);
}

#[tokio::test]
async fn silent_table_is_not_asked_for_a_key_of_the_snapshot_until_that_is_read_again() {
    let stack = Stack::with_snapshot(OUTAGE.always(), &key_record("shop")).await;
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
async fn snapshot_of_the_second_of_the_last_read_decides() {
    let expired = KeyEntry {
        expires_at: Some(later(30)),
        ..key_record("shop")
    };
    let stack = Stack::start(Plan::none()).await;
    let key = stack.app.key("shop").await;
    stack.ping(&key, NOW.plus(Duration::from_millis(300))).await;
    stack.proxy.set(OUTAGE.always());
    // `Last-Modified` has no milliseconds, so the snapshot may be newer than the read.
    stack.publish(&key, &expired, NOW);
    assert_eq!(stack.status(&key, later(70)).await, 401);
    // One that is surely older does not count.
    let stack = Stack::start(Plan::none()).await;
    let key = stack.read_key(|_| {}).await;
    stack.publish(&key, &expired, earlier(1));
    assert_eq!(stack.status(&key, later(70)).await, 200);
}

#[tokio::test]
async fn snapshot_older_than_the_one_in_memory_does_not_replace_it() {
    let stack = Stack::start(OUTAGE.always()).await;
    stack.publish("first", &key_record("shop"), earlier(10));
    assert_eq!(stack.status("first", NOW).await, 200);
    // An operator restores an older version of the object.
    stack.publish("second", &key_record("shop"), earlier(7200));
    assert_eq!(stack.status("second", later(70)).await, 503);
    assert_eq!(stack.status("first", later(75)).await, 200);
}

#[tokio::test]
async fn snapshot_is_asked_first_for_a_while_after_the_table_did_not_answer() {
    let stack = Stack::start(OUTAGE.always()).await;
    let keys = ["first", "second", "third"].map(|key| (KeyHash::of(key), key_record("shop")));
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
async fn silent_s3_leaves_the_look_up_to_the_table() {
    let stack = Stack::start(Fault::Stall.always()).await;
    stack.s3.set_fault(Some(S3Fault::Hanging));
    stack
        .ping(KEY, NOW)
        .await
        .assert_problem(503, "storage-unavailable");
    assert_eq!(stack.s3.take_requests().len(), 1, "it is asked once");
    let key = stack.app.key("shop").await;
    let slow = Fault::Slow(Duration::from_millis(3_500))
        .at(1)
        .of("GetItem");
    stack.proxy.set(slow);
    assert_eq!(
        stack.status(&key, later(60)).await,
        200,
        "an answer that comes after the snapshot's time counts"
    );
}
