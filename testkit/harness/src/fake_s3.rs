//! The key snapshot in an S3 of a test, and clients of its buckets.

use std::time::{Duration, UNIX_EPOCH};

use aws::s3::{Bucket, S3Connection, UNRESPONSIVE_TIMEOUT};
use aws::sdk_config::connector;
use aws::variables::Variables;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::key_snapshot::{self, SnapshotKey};

pub use emulator::s3::{FakeS3, StoredObject};

/// The bucket of the key snapshot.
pub const KEY_SNAPSHOT_BUCKET: &str = "keys";

/// The path of the key snapshot.
pub const KEY_SNAPSHOT_PATH: &str = "/keys/keys.json.gz";

/// A function's client of a bucket of the S3 at `endpoint`.
pub fn bucket_at(endpoint: &str, name: &str) -> Bucket {
    let credentials = Credentials::new("local", "local", None, None, "test");
    let connection = S3Connection {
        endpoint: endpoint.to_owned(),
        region: "eu-central-1".to_owned(),
        credentials: SharedCredentialsProvider::new(credentials),
        connector: connector(&Variables::default(), UNRESPONSIVE_TIMEOUT).unwrap(),
    };
    Bucket::new(name, connection)
}

/// Writes a key snapshot, as if at this time.
pub fn publish(s3: &FakeS3, keys: &[(KeyHash, KeyEntry)], at: Timestamp) {
    let keys: Vec<_> = keys
        .iter()
        .filter_map(|(hash, entry)| SnapshotKey::new(*hash, entry, at))
        .collect();
    let object = key_snapshot::write(&keys, at).unwrap();
    let time = UNIX_EPOCH + Duration::from_millis(at.millis());
    s3.put_at(KEY_SNAPSHOT_PATH, object, time);
}
