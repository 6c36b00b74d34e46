//! The table ApiKeys: which account a key belongs to. It contains the hashes of keys, not the keys.

use std::time::Duration;

use crate::deadline::{Deadline, before, yield_for_connection_reuse};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use model::account::AccountId;
use model::api_key::{Endpoint, KeyHash};
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attributes::{Item, epoch_seconds, from_item, not_null, string, to_item};
use crate::circuit_breaker::CircuitBreaker;
use crate::error::StoreError;

/// The partition key: [`KeyHash::partition_key`].
pub const PARTITION_KEY: &str = "keyHash";

/// The record of a key: the attributes of its item, but for the hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    /// Identifies the key where the key itself must not appear: in logs and on the command line.
    pub key_id: String,
    /// The account whose data the key gives access to.
    pub account_id: AccountId,
    /// The name that the operator gave the key.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; exact to the second.
    #[serde(with = "epoch_seconds", default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(deserialize_with = "not_null", default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// The only endpoint that accepts it; without one, all do.
    #[serde(deserialize_with = "not_null", default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Endpoint>,
}

/// A key that expires within this time ends soon: time to rotate it.
const ENDS_SOON: Duration = Duration::from_hours(30 * 24);

/// A key whose whole lifetime is below this is short-lived. The alarms on keys in use fire 7 days before the end of a key, so
/// for a short-lived key they would fire at its first request.
const SHORT_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// Whether a key is valid, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStatus {
    /// It is valid.
    Active,
    /// Its end has passed.
    Expired,
    /// It was revoked, whether or not its end has passed.
    Revoked,
}

impl KeyStatus {
    /// As logs and the command line show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl KeyRecord {
    /// Whether the key is valid at `now`.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.status(now) == KeyStatus::Active
    }

    /// Whether the key is valid at `now`, and if not, why.
    pub fn status(&self, now: Timestamp) -> KeyStatus {
        if self.revoked_at.is_some() {
            KeyStatus::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyStatus::Expired
        } else {
            KeyStatus::Active
        }
    }

    /// The time that a valid key has left, if it ends soon: within 30 days.
    pub fn ends_soon(&self, now: Timestamp) -> Option<Duration> {
        let left = self.expires_at.filter(|_| self.is_active(now))?.duration_since(now);
        (left < ENDS_SOON).then_some(left)
    }

    /// Whether the whole lifetime of the key is under 7 days, as that of a key of `cargo intake verify` is.
    pub fn is_short_lived(&self) -> bool {
        // In seconds, as the end is, so that a key made for 7 days is not taken for a shorter one.
        let lifetime = |end: Timestamp| end.seconds().saturating_sub(self.created_at.seconds());
        self.expires_at.is_some_and(|end| lifetime(end) < SHORT_LIFETIME.as_secs())
    }

    /// Reads an item of the table.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when an attribute is missing or malformed.
    pub fn from_item(item: Item) -> Result<Self, StoreError> {
        from_item(item)
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct ApiKeysTable {
    client: Client,
    table: String,
    breaker: CircuitBreaker,
}

/// Why a key was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The table has this key already.
    #[error("the key exists")]
    Exists,
    /// The record could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ApiKeysTable {
    /// The table called `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), breaker: CircuitBreaker::default() }
    }

    /// The record of the key with this hash. The read is strongly consistent (docs/api.md, API keys).
    ///
    /// # Errors
    /// When the table cannot be read, or the item is not a record of a key.
    pub async fn find(&self, hash: &KeyHash, deadline: Deadline) -> Result<Option<KeyRecord>, StoreError> {
        let access = self.breaker.access(deadline);
        let found = access.repeat(|| async {
            let call = self.client.get_item().table_name(&self.table).key(PARTITION_KEY, string(hash.partition_key()));
            Ok(call.consistent_read(true).send().await?)
        });
        let found = found.await?;
        yield_for_connection_reuse().await;
        found.item.map(KeyRecord::from_item).transpose()
    }

    /// Adds a key.
    ///
    /// # Errors
    /// When the table has this key already, or the record cannot be written.
    pub async fn create(&self, hash: &KeyHash, record: &KeyRecord, deadline: Deadline) -> Result<(), CreateError> {
        let mut item = to_item(record)?;
        item.insert(PARTITION_KEY.to_owned(), string(hash.partition_key()));
        let call = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(keyHash)");
        match before(deadline, call.send()).await.map_err(StoreError::from)? {
            Ok(_) => Ok(()),
            Err(error) => Err(match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => CreateError::Exists,
                _ => CreateError::Store(error.into()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    fn record() -> KeyRecord {
        KeyRecord {
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
    fn record_is_read_as_it_was_written() {
        let revoked = KeyRecord { revoked_at: Some(Timestamp::from_millis(1_795_213_500_500)), ..record() };
        let restricted = KeyRecord { only: Some(Endpoint::Signals), ..record() };
        for record in [record(), KeyRecord { expires_at: None, ..record() }, revoked, restricted] {
            let item = to_item(&record).unwrap();
            assert_eq!(KeyRecord::from_item(item), Ok(record));
        }
    }

    #[test]
    fn record_with_a_malformed_attribute_is_corrupt() {
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
            let mut item = to_item(&record()).unwrap();
            item.insert(name.to_owned(), value);
            assert_eq!(KeyRecord::from_item(item), Err(StoreError::Corrupt), "{name}");
        }
    }

    #[test]
    fn key_is_active_until_the_second_it_expires() {
        let end = Timestamp::from_millis(5_000);
        let record = KeyRecord { expires_at: Some(end), ..record() };
        assert_eq!(record.status(Timestamp::from_millis(4_999)), KeyStatus::Active);
        assert_eq!(record.status(end), KeyStatus::Expired);
        let revoked = KeyRecord { revoked_at: Some(end), ..record };
        assert_eq!(revoked.status(Timestamp::from_millis(1)), KeyStatus::Revoked);
    }
}
