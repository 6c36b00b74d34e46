//! The table ApiKeys: which account a key belongs to. It contains the hashes of keys, not the keys.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws::deadline::Deadline;
use aws_sdk_dynamodb::Client;
use model::api_key::KeyHash;
use model::key_entry::KeyEntry;

use crate::attributes::{from_item, string};
use crate::error::StoreError;
use crate::retry::repeat;

/// The attribute of the partition key. Its value is [`KeyHash::partition_key`].
pub const PARTITION_KEY: &str = "keyHash";

/// How long a function uses a valid key without another look-up. A revocation takes effect within
/// this time, and an erasure of an account waits for it.
pub const VALID_KEY_CACHE_TTL: Duration = Duration::from_mins(1);

/// The table of the API keys.
#[derive(Clone, Debug)]
pub struct ApiKeysTable {
    client: Client,
    table: String,
}

impl ApiKeysTable {
    /// The environment variable that names the table.
    pub const VARIABLE: &str = "API_KEYS_TABLE";

    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
        }
    }

    /// The entry of the key with this hash. The read is strongly consistent (docs/api.md, API
    /// keys). Sets `has_failed` when a call fails, even if it is repeated.
    ///
    /// # Errors
    /// When the table cannot be read, or the item is not an entry of a key.
    pub async fn find(
        &self,
        hash: &KeyHash,
        deadline: Deadline,
        has_failed: &AtomicBool,
    ) -> Result<Option<KeyEntry>, StoreError> {
        let found = repeat(deadline, || async {
            let call = self
                .client
                .get_item()
                .table_name(&self.table)
                .key(PARTITION_KEY, string(hash.partition_key()));
            let sent = call.consistent_read(true).send().await;
            if sent.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            Ok(sent?)
        });
        let found = found.await?;
        found.item.map(from_item).transpose()
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use model::timestamp::Timestamp;

    use super::*;
    use crate::attributes::to_item;

    fn entry() -> KeyEntry {
        KeyEntry {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(1_795_213_000_009),
            expires_at: Some(Timestamp::from_millis(1_795_214_000_000)),
            revoked_at: None,
            only: None,
        }
    }

    #[test]
    fn entry_with_a_malformed_attribute_is_corrupt() {
        for (name, value) in [
            ("expiresAt", string("tomorrow")),
            ("revokedAt", string("yesterday")),
            ("revokedAt", AttributeValue::Null(true)),
            ("expiresAt", AttributeValue::Null(true)),
            ("accountId", string("a b")),
            ("createdAt", string("")),
            ("only", string("everything")),
            ("only", AttributeValue::Null(true)),
        ] {
            let mut item = to_item(&entry()).unwrap();
            item.insert(name.to_owned(), value);
            assert_eq!(
                from_item::<KeyEntry>(item),
                Err(StoreError::Corrupt),
                "{name}"
            );
        }
    }
}
