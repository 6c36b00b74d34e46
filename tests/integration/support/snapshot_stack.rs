//! An app with a key snapshot, and what is in the snapshot.

use emulator::sqs::FakeSqs;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::json;
use testkit::fake_s3::FakeS3;
use testkit::fault_proxy::{Fault, FaultProxy, Plan};
use testkit::{Endpoints, RequestBuilder, TestApp, TestResponse};

use super::clock::{NOW, earlier};

/// A failure that is not retried, so that no look-up waits for the table. The test
/// `new_process_knows_the_keys_of_the_snapshot_in_every_outage` has those that are.
pub(crate) const OUTAGE: Fault = Fault::AccessDenied;

pub(crate) const KEY: &str = "intake_sk_of_the_snapshot";

/// An app with a snapshot, and a proxy before all its tables.
pub(crate) struct SnapshotStack {
    pub(crate) app: TestApp,
    pub(crate) proxy: FaultProxy,
    pub(crate) s3: FakeS3,
    pub(crate) sqs: FakeSqs,
}

impl SnapshotStack {
    /// A stack without a key, in a process that has read none.
    pub(crate) async fn start(plan: impl Into<Plan>) -> Self {
        let emulator = TestApp::emulator();
        let proxy = FaultProxy::start(&emulator.endpoint(), plan).await.unwrap();
        let s3 = FakeS3::start().await.unwrap();
        let sqs = FakeSqs::start().await.unwrap();
        let dynamodb = proxy.endpoint();
        let endpoints = Endpoints {
            keys: &dynamodb,
            others: &dynamodb,
            sqs: Some(&sqs),
            s3: Some(&s3),
        };
        let app = TestApp::with_endpoints(emulator, &endpoints, None);
        Self {
            app,
            proxy,
            s3,
            sqs,
        }
    }

    /// A stack with this key in its snapshot, and in no table.
    pub(crate) async fn with_snapshot(plan: impl Into<Plan>, entry: &KeyEntry) -> Self {
        let stack = Self::start(plan).await;
        stack.publish(KEY, entry, earlier(3600));
        stack
    }

    pub(crate) fn publish(&self, key: &str, entry: &KeyEntry, at: Timestamp) {
        self.s3
            .publish(&[(KeyHash::from_key(key), entry.clone())], at);
    }

    pub(crate) async fn ping(&self, key: &str, at: Timestamp) -> TestResponse {
        self.app
            .send(RequestBuilder::ping().key(key).received_at(at))
            .await
    }

    pub(crate) async fn status(&self, key: &str, at: Timestamp) -> u16 {
        self.ping(key, at).await.status
    }

    /// The key cannot be checked at this time.
    pub(crate) async fn assert_unavailable(&self, key: &str, at: Timestamp) {
        let response = self.ping(key, at).await;
        response.assert_problem(503, "storage-unavailable");
    }

    /// A valid key of the table that this process has read at `NOW`. Since then, the table is
    /// unavailable.
    pub(crate) async fn read_key(&self, change: impl FnOnce(&mut KeyEntry)) -> String {
        let key = self.app.key_with("shop", change).await;
        assert_eq!(self.status(&key, NOW).await, 200);
        self.proxy.set(OUTAGE.always());
        key
    }

    pub(crate) fn reads_of_table(&self) -> u64 {
        self.proxy.counts().calls_of("GetItem")
    }
}

pub(crate) fn signal() -> RequestBuilder {
    RequestBuilder::signals(
        json!({"signals": [{"customerId": "c", "eventType": "view", "data": {}}]}),
    )
}

pub(crate) fn revoked(entry: KeyEntry) -> KeyEntry {
    KeyEntry {
        revoked_at: Some(earlier(7200)),
        ..entry
    }
}
