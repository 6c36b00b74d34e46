//! The table ApiKeys: whose a key is. Keys themselves are not in it, only their hashes.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;

use crate::attributes::{Item, n, s, text, whole_number};
use crate::throttling::TableThrottle;
use crate::{StoreError, before, yield_for_connection_reuse};
use model::account::AccountId;
use model::api_key::KeyHash;
use model::deadline::Deadline;
use model::timestamp::Timestamp;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Names the key where the key itself must not stand: in logs and on the command line.
    pub key_id: String,
    /// Whose data it opens.
    pub account_id: AccountId,
    /// What its maker called it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it opens nothing; to the second.
    pub expires_at: Option<Timestamp>,
    /// Since when it opens nothing.
    pub revoked_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Whether the key opens anything at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// The record in an item of the table; `None` when an attribute is not as this service writes it: then nobody can
    /// tell what the key opens.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        let expires_at = match item.get("expiresAt") {
            None => None,
            Some(_) => Some(Timestamp::from_millis(whole_number(item, "expiresAt")?.saturating_mul(1000))),
        };
        let revoked_at = match item.get("revokedAt") {
            None => None,
            Some(_) => Some(text(item, "revokedAt")?.parse().ok()?),
        };
        Some(Self {
            key_id: text(item, "keyId")?.to_owned(),
            account_id: text(item, "accountId")?.parse().ok()?,
            name: text(item, "name")?.to_owned(),
            created_at: text(item, "createdAt")?.parse().ok()?,
            expires_at,
            revoked_at,
        })
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct ApiKeysTable {
    client: Client,
    table: String,
    throttle: TableThrottle,
}

/// A key that is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// There is a record of this key.
    Exists,
    /// It could not be written.
    Store(StoreError),
}

impl ApiKeysTable {
    /// The table called `table`.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), throttle: TableThrottle::default() }
    }

    /// What is known of the key with this hash, as of now: the read is strongly consistent (SPEC 2.7).
    ///
    /// # Errors
    /// When the table cannot be read, or what it holds is no record of a key.
    pub async fn find(&self, hash: &KeyHash, deadline: Deadline) -> Result<Option<KeyRecord>, StoreError> {
        let mut backoff = self.throttle.backoff(deadline);
        let found = loop {
            let call = self.client.get_item().table_name(&self.table).key("keyHash", s(hash.to_hex()));
            let found = before(deadline, call.consistent_read(true).send()).await?.map_err(StoreError::from);
            if !backoff.repeats(&found).await {
                break found?;
            }
        };
        yield_for_connection_reuse().await;
        found.item.map(|item| KeyRecord::from_item(&item).ok_or(StoreError::Corrupt)).transpose()
    }

    /// Adds a key.
    ///
    /// # Errors
    /// When there is a record of this key already, or it cannot be written.
    pub async fn create(&self, hash: &KeyHash, record: &KeyRecord, deadline: Deadline) -> Result<(), CreateError> {
        let call = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(write(hash, record)))
            .condition_expression("attribute_not_exists(keyHash)");
        let sent = before(deadline, call.send()).await.map_err(|out_of_time| CreateError::Store(out_of_time.into()))?;
        match sent {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("ConditionalCheckFailedException") => Err(CreateError::Exists),
            Err(error) => Err(CreateError::Store(error.into())),
        }
    }
}

fn write(hash: &KeyHash, record: &KeyRecord) -> Item {
    let mut item = Item::from([
        ("keyHash".to_owned(), s(hash.to_hex())),
        ("keyId".to_owned(), s(&record.key_id)),
        ("accountId".to_owned(), s(record.account_id.as_str())),
        ("name".to_owned(), s(&record.name)),
        ("createdAt".to_owned(), s(record.created_at.to_string())),
    ]);
    if let Some(end) = record.expires_at {
        item.insert("expiresAt".to_owned(), n(end.seconds()));
    }
    if let Some(revoked) = record.revoked_at {
        item.insert("revokedAt".to_owned(), s(revoked.to_string()));
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = KeyRecord {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(1_795_213_000_009),
            expires_at: Some(Timestamp::from_millis(1_795_214_000_000)),
            revoked_at: Some(Timestamp::from_millis(1_795_213_500_500)),
        };
        let mut item = write(&KeyHash::of("k"), &record);
        assert_eq!(KeyRecord::from_item(&item), Some(record));
        item.insert("expiresAt".into(), s("tomorrow"));
        assert_eq!(KeyRecord::from_item(&item), None);
    }

    #[test]
    fn a_key_is_live_until_the_second_it_expires() {
        let end = Timestamp::from_millis(5_000);
        let record = KeyRecord {
            key_id: "key_1".into(),
            account_id: "shop".parse().unwrap(),
            name: "web".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: Some(end),
            revoked_at: None,
        };
        assert!(record.is_active(Timestamp::from_millis(4_999)));
        assert!(!record.is_active(end));
        assert!(!KeyRecord { revoked_at: Some(end), expires_at: None, ..record }.is_active(Timestamp::from_millis(1)));
    }
}
