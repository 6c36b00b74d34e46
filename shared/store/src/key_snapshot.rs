//! The key snapshot: all keys in one object of S3, for the time in which the key table is
//! unavailable (docs/data-model.md, Key snapshot). The functions read it and `cargo intake` writes it.
//! This module must not know when it is read.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use aws::s3::{S3Error, S3Object};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, Value};

/// The variable that names the bucket.
pub const BUCKET_VARIABLE: &str = "KEY_SNAPSHOT_BUCKET";

/// The key of the object.
pub const OBJECT_KEY: &str = "keys.json.gz";

/// The media type of the object.
pub const CONTENT_TYPE: &str = "application/gzip";

/// The largest object that is read or written: 8 MB.
pub const MAX_OBJECT_BYTES: usize = 8_000_000;

/// The longest JSON in it, which bounds the memory of a reader: some 70,000 keys, which take up to
/// 20 MB when they are read.
pub const MAX_JSON_BYTES: usize = 16 * 1024 * 1024;

/// How long a key stays in the snapshot after it has expired or was revoked. During this time, the
/// log can say why the key is rejected.
const ENDED_KEY_RETENTION: Duration = Duration::from_hours(30 * 24);

const VERSION: u32 = 1;

/// The snapshot as it was read.
#[derive(Debug)]
pub struct KeySnapshot {
    /// When it was written, by the operator's clock or by S3's, whichever is earlier.
    pub time: Timestamp,
    /// How many entries this version cannot read.
    pub unreadable: usize,
    /// Sorted by their hashes.
    keys: Vec<SnapshotKey>,
}

/// The content of the object.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotDocument<K> {
    version: u32,
    written_at: Timestamp,
    keys: K,
}

/// A key in the snapshot: its hash, and its entry without the name, which a function does not need.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotKey {
    key_hash: KeyHash,
    #[serde(flatten)]
    entry: KeyEntry,
}

/// Why the snapshot cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySnapshotError {
    /// The object cannot be read.
    #[error(transparent)]
    S3(#[from] S3Error),
    /// The object is not a snapshot of this version, or its JSON is longer than the limit.
    #[error("the object is not a key snapshot that this version can read")]
    Malformed,
    /// With the change, the snapshot would be too large for its readers.
    #[error(transparent)]
    TooManyKeys(#[from] TooManyKeys),
}

/// There are more keys than a snapshot can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there are too many keys for a key snapshot ({MAX_OBJECT_BYTES} bytes, {MAX_JSON_BYTES} before compression)"
)]
pub struct TooManyKeys;

impl SnapshotKey {
    /// The key with this hash and entry at `now`. `None` for keys that a snapshot leaves out: keys of
    /// `cargo intake verify`, and keys that ended long ago.
    pub fn new(key_hash: KeyHash, entry: &KeyEntry, now: Timestamp) -> Option<Self> {
        let key = Self {
            key_hash,
            entry: KeyEntry {
                name: String::new(),
                ..entry.clone()
            },
        };
        (!key_hash.is_for_verification() && key.is_kept(now)).then_some(key)
    }

    fn is_kept(&self, now: Timestamp) -> bool {
        [self.entry.expires_at, self.entry.revoked_at]
            .into_iter()
            .flatten()
            .all(|end| now < end.plus(ENDED_KEY_RETENTION))
    }

    pub fn id(&self) -> &str {
        &self.entry.key_id
    }
}

impl KeySnapshot {
    /// The snapshot in an object.
    ///
    /// # Errors
    /// [`KeySnapshotError::Malformed`]
    pub fn parse(object: &S3Object) -> Result<Self, KeySnapshotError> {
        let SnapshotDocument {
            written_at,
            keys: entries,
            ..
        } = decode::<Vec<Box<RawValue>>>(object)?;
        // Each entry is read on its own, so that an entry of a later version does not make the
        // others unreadable.
        let keys = entries
            .iter()
            .filter_map(|entry| serde_json::from_str(entry.get()).ok());
        let mut keys: Vec<SnapshotKey> = keys.collect();
        keys.sort_unstable_by_key(|key| key.key_hash);
        let unreadable = entries.len().saturating_sub(keys.len());
        Ok(Self {
            time: written_at.min(object.last_modified),
            unreadable,
            keys,
        })
    }

    pub fn find(&self, hash: KeyHash) -> Option<KeyEntry> {
        let position = self
            .keys
            .binary_search_by_key(&hash, |key| key.key_hash)
            .ok()?;
        self.keys.get(position).map(|key| key.entry.clone())
    }

    /// The keys that a snapshot written at `now` would keep.
    pub fn keys_at(&self, now: Timestamp) -> impl Iterator<Item = &SnapshotKey> {
        self.keys.iter().filter(move |key| key.is_kept(now))
    }
}

/// The content of an object with these keys.
///
/// # Errors
/// [`TooManyKeys`] when the content would be too large for its readers.
pub fn write(keys: &[SnapshotKey], written_at: Timestamp) -> Result<Vec<u8>, TooManyKeys> {
    encode(&SnapshotDocument {
        version: VERSION,
        written_at,
        keys,
    })
}

/// The content of the object with a revocation of the key with this id; `None` when it has no such
/// key. Everything else stays, also the entries that this version cannot read. The time stays too,
/// because the other entries are no newer than they were.
///
/// # Errors
/// [`KeySnapshotError::Malformed`], [`KeySnapshotError::TooManyKeys`]
pub fn revoke(
    object: &S3Object,
    key_id: &str,
    at: Timestamp,
) -> Result<Option<Vec<u8>>, KeySnapshotError> {
    let mut document: SnapshotDocument<Vec<Value>> = decode(object)?;
    let mut entries = document.keys.iter_mut().filter_map(Value::as_object_mut);
    let Some(entry) = entries.find(|entry| entry.get("keyId").is_some_and(|id| id == key_id))
    else {
        return Ok(None);
    };
    entry
        .entry("revokedAt")
        .or_insert_with(|| at.to_string().into());
    Ok(Some(encode(&document)?))
}

fn decode<K: DeserializeOwned>(object: &S3Object) -> Result<SnapshotDocument<K>, KeySnapshotError> {
    let limit = u64::try_from(MAX_JSON_BYTES).unwrap_or(u64::MAX);
    // The parser reads from the decoder, so that the JSON is never in memory as a whole. JSON that
    // is cut at the limit does not parse.
    let json = std::io::BufReader::new(GzDecoder::new(object.body.as_slice()).take(limit));
    let document: SnapshotDocument<K> =
        serde_json::from_reader(json).map_err(|_| KeySnapshotError::Malformed)?;
    if document.version == VERSION {
        Ok(document)
    } else {
        Err(KeySnapshotError::Malformed)
    }
}

fn encode<K: Serialize>(document: &SnapshotDocument<K>) -> Result<Vec<u8>, TooManyKeys> {
    let json = serde_json::to_vec(document).expect("keys and times serialize");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(&json).and_then(|()| encoder.finish());
    let object = written.expect("writing to memory does not fail");
    if json.len() < MAX_JSON_BYTES && object.len() <= MAX_OBJECT_BYTES {
        Ok(object)
    } else {
        Err(TooManyKeys)
    }
}

#[cfg(test)]
mod tests {
    use model::api_key::Endpoint;
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_213_000_009);

    fn entry() -> KeyEntry {
        KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: NOW,
            expires_at: None,
            revoked_at: None,
            only: None,
        }
    }

    fn days_ago(days: u64) -> Timestamp {
        Timestamp::from_millis(NOW.millis() / 1000 * 1000 - days * 24 * 60 * 60 * 1000)
    }

    #[test]
    fn key_is_read_as_it_was_written_but_for_its_name() {
        let entries = [
            entry(),
            KeyEntry {
                expires_at: Some(days_ago(0)),
                ..entry()
            },
            KeyEntry {
                revoked_at: Some(days_ago(1)),
                only: Some(Endpoint::Signals),
                ..entry()
            },
        ];
        let hash = |n: usize| KeyHash::from_key(n.to_string());
        let keys: Vec<_> = entries
            .iter()
            .enumerate()
            .map(|(n, entry)| SnapshotKey::new(hash(n), entry, NOW).unwrap())
            .collect();
        let snapshot = KeySnapshot::parse(&S3Object {
            body: write(&keys, NOW).unwrap(),
            last_modified: NOW,
        })
        .unwrap();
        for (n, entry) in entries.into_iter().enumerate() {
            assert_eq!(
                snapshot.find(hash(n)),
                Some(KeyEntry {
                    name: String::new(),
                    ..entry
                })
            );
        }
        assert_eq!(snapshot.find(hash(3)), None);
    }

    #[test]
    fn revocation_leaves_what_this_version_cannot_read() {
        let keys =
            json!([{"keyId": "key_1", "only": "later"}, null, {"keyId": "key_2", "later": 1}]);
        let before = SnapshotDocument {
            version: VERSION,
            written_at: NOW,
            keys,
        };
        let mut object = S3Object {
            body: encode(&before).unwrap(),
            last_modified: NOW,
        };
        for _ in 0..2 {
            object.body = revoke(&object, "key_2", days_ago(1)).unwrap().unwrap();
            let mut after: SnapshotDocument<Value> = decode(&object).unwrap();
            assert_eq!(
                after.keys[2].as_object_mut().unwrap().remove("revokedAt"),
                Some(json!(days_ago(1)))
            );
            assert_eq!((after.written_at, after.keys), (NOW, before.keys.clone()));
        }
        assert_eq!(revoke(&object, "key_3", NOW), Ok(None));
    }

    #[test]
    fn more_keys_than_readers_take_are_not_written() {
        let key = SnapshotKey::new(KeyHash::from_key("k"), &entry(), NOW).unwrap();
        assert_eq!(write(&vec![key; 200_000], NOW), Err(TooManyKeys));
    }
}
