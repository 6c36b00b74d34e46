//! The key snapshot of a stack, and faults of what has the keys.

use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::json;
use simulator::aws::dynamodb::API_KEYS;
use simulator::aws::faults::{Fault, Rule, Target};
use store::key_snapshot::{self, OBJECT_KEY, SnapshotKey};

use super::clock::{NOW, earlier};
use super::request_builder::{RequestBuilder, TestResponse};
use super::stack::Stack;

/// A failure that is not retried, so that no look-up waits for the table. The test
/// `new_process_knows_the_keys_of_the_snapshot_in_every_outage` has those that are.
pub(crate) const OUTAGE: Fault = Fault::Refused("UnknownOperationException");

/// The response of a table to a role that may not read it.
pub(crate) const DENIED: Fault = Fault::Refused("AccessDeniedException");

pub(crate) const KEY: &str = "intake_sk_of_the_snapshot";

/// The fault on every call on every table.
pub(crate) fn everywhere(fault: Fault) -> [Rule; 1] {
    [fault.always().on(Target::Tables)]
}

/// The fault on every call on the key table.
pub(crate) fn of_key_table(fault: Fault) -> [Rule; 1] {
    [fault.always().on(Target::Table(API_KEYS))]
}

/// The fault on every call to S3.
pub(crate) fn of_s3(fault: Fault) -> Rule {
    fault.always().on(Target::S3)
}

impl Stack {
    /// A stack with this key in its snapshot, and in no table.
    pub(crate) fn with_snapshot(rules: impl IntoIterator<Item = Rule>, entry: &KeyEntry) -> Self {
        let stack = Self::start(rules);
        stack.publish(&[(KEY, entry.clone())], earlier(3600));
        stack
    }

    /// Writes a snapshot of these keys at this time.
    pub(crate) fn publish(&self, keys: &[(&str, KeyEntry)], at: Timestamp) {
        self.publish_as(keys, at, at);
    }

    /// Writes a snapshot that says that it was written at one time, as if at another.
    pub(crate) fn publish_as(
        &self,
        keys: &[(&str, KeyEntry)],
        written_at: Timestamp,
        at: Timestamp,
    ) {
        let keys: Vec<_> = keys
            .iter()
            .filter_map(|(key, entry)| SnapshotKey::new(KeyHash::from_key(key), entry, written_at))
            .collect();
        self.put_object(key_snapshot::write(&keys, written_at).unwrap(), at);
    }

    /// Writes the object of the snapshot at this time.
    pub(crate) fn put_object(&self, object: Vec<u8>, at: Timestamp) {
        self.aws.state().objects.put(OBJECT_KEY, object, at);
    }

    pub(crate) async fn ping(&self, key: &str, at: Timestamp) -> TestResponse {
        let ping = RequestBuilder::ping().key(key).received_at(at);
        self.request_with_its_key(ping).await
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
        let key = self.key_with(2, change);
        assert_eq!(self.status(&key, NOW).await, 200);
        self.set(everywhere(OUTAGE));
        key
    }

    pub(crate) fn reads_of_table(&self) -> u64 {
        self.calls_of("GetItem")
    }

    pub(crate) fn reads_of_snapshot(&self) -> u64 {
        self.calls_of("GET")
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
