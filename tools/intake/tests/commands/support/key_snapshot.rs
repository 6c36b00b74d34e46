//! The key snapshot that commands have written, and what `doctor` says of it.

use std::io::Read as _;

use flate2::read::GzDecoder;
use harness::TestApp;
use harness::fake_s3::{FakeS3, KEY_SNAPSHOT_PATH};
use model::timestamp::Timestamp;
use serde_json::Value;

use super::operator::{CommandOutput, Operator};

pub(crate) const PUBLISH: [&str; 2] = ["keys", "publish"];

/// An operator whose stack has this bucket for the snapshot.
pub(crate) fn operator(app: &TestApp, s3: &FakeS3) -> Operator {
    Operator::new(app).with_key_snapshot(s3)
}

/// The keys in the snapshot.
pub(crate) fn keys(s3: &FakeS3) -> Vec<Value> {
    std::mem::take(document(s3)["keys"].as_array_mut().unwrap())
}

/// The snapshot as JSON.
pub(crate) fn document(s3: &FakeS3) -> Value {
    let object = s3.object(KEY_SNAPSHOT_PATH).expect("there is a snapshot");
    let mut json = String::new();
    GzDecoder::new(&*object.body)
        .read_to_string(&mut json)
        .unwrap();
    let document: Value = json.parse().unwrap();
    assert_eq!(document["version"], 1);
    let written_at = document["writtenAt"].as_str().unwrap();
    assert!(written_at.parse::<Timestamp>().is_ok(), "{written_at}");
    document
}

/// The key with this id.
pub(crate) fn key<'k>(keys: &'k [Value], id: &str) -> &'k Value {
    keys.iter().find(|key| key["keyId"] == id).unwrap()
}

/// What `doctor` says of the key snapshot.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) result: String,
    pub(crate) seen: String,
}

/// The check of the key snapshot in the output of `doctor --json`.
pub(crate) fn finding(output: &CommandOutput) -> Finding {
    let checks = output.json();
    let finding = checks
        .iter()
        .find(|check| check["check"] == "Key snapshot")
        .unwrap();
    Finding {
        result: finding["result"].as_str().unwrap().to_owned(),
        seen: finding["seen"].as_str().unwrap().to_owned(),
    }
}
