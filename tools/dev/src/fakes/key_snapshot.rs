//! The S3 of the stack, whose one object is the key snapshot. It is written at the start, and after that by
//! `cargo intake --local keys`, as on AWS. Must not know when the functions read it.

use anyhow::Result;
use emulator::s3::FakeS3;
use emulator::{Emulator, Template};
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::{Map, Value};
use store::api_keys::PARTITION_KEY;
use store::key_snapshot::{BUCKET_VARIABLE, OBJECT_KEY, SnapshotKey, write};

use crate::terminal::status;

/// The bucket of the snapshot.
const BUCKET: &str = "key-snapshot";

/// The variable by which the functions and the operator find the snapshot.
pub(crate) fn variable() -> (String, String) {
    (BUCKET_VARIABLE.to_owned(), BUCKET.to_owned())
}

/// Starts an S3 with a snapshot of the key table.
///
/// # Errors
/// No port is free, or the table cannot be read or has too many keys.
pub(crate) async fn start(emulator: &Emulator, template: &Template) -> Result<FakeS3> {
    let table = template.table("ApiKeysTable")?;
    let now = Timestamp::now();
    let mut keys = Vec::new();
    let mut unreadable = 0_u64;
    emulator.for_each_item(&table.name, |item| match stored_key(item) {
        Some((hash, entry)) => keys.extend(SnapshotKey::new(hash, &entry, now)),
        None => unreadable += 1,
    })?;
    if unreadable > 0 {
        status(&format!(
            "Items of {} that are not API keys: {unreadable}. The key snapshot does not have them.",
            table.name
        ));
    }
    let s3 = FakeS3::start().await?;
    s3.put(&format!("/{BUCKET}/{OBJECT_KEY}"), write(&keys, now)?);
    Ok(s3)
}

/// The hash and the entry of a key, whose attributes are all texts. `None` for an item that is no such entry.
fn stored_key(item: &Value) -> Option<(KeyHash, KeyEntry)> {
    let mut texts = Map::new();
    for (name, attribute) in item.as_object()? {
        texts.insert(name.clone(), attribute.get("S")?.clone());
    }
    let hash = texts.get(PARTITION_KEY)?.as_str()?.parse().ok()?;
    let entry = serde_json::from_value(Value::Object(texts)).ok()?;
    Some((hash, entry))
}
