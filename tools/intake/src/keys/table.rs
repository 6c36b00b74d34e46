//! The operator's access to the table ApiKeys: by the id of a key, where the functions know only its hash.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::api_key::KeyHash;
use model::deadline::Deadline;
use model::timestamp::Timestamp;
use store::api_keys::{ApiKeysTable, CreateError, KeyRecord, PARTITION_KEY};

use crate::error::{call_error, store_error};
use crate::item::{Item, text};
use crate::output::note;
use crate::scan::scan;
use crate::stack::{API_KEYS, Stack, WRITE_TIMEOUT};

/// A key in the table.
#[derive(Debug)]
pub(super) struct StoredKey {
    hash: String,
    pub(super) record: KeyRecord,
}

pub(super) struct KeyTable<'a> {
    pub(super) stack: &'a Stack,
    table: &'a str,
    /// Whether this command has written it.
    is_changed: AtomicBool,
}

impl<'a> KeyTable<'a> {
    pub(super) fn new(stack: &'a Stack) -> Result<Self> {
        Ok(Self { stack, table: stack.table(API_KEYS)?, is_changed: AtomicBool::new(false) })
    }

    /// Whether this command has written the table, or may have.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }

    /// Before a write: one that fails may have taken effect.
    fn changes(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Adds a key; `false` if it already exists.
    pub(super) async fn add(&self, hash: &KeyHash, record: &KeyRecord) -> Result<bool> {
        let keys = ApiKeysTable::new(self.stack.client.clone(), self.table);
        self.changes();
        match keys.create(hash, record, Deadline::after(WRITE_TIMEOUT)).await {
            Ok(()) => Ok(true),
            Err(CreateError::Exists) => Ok(false),
            Err(CreateError::Store(error)) => Err(store_error(self.table, &error)),
        }
    }

    /// All keys, the newest last. The table's key is the hash, so this scans it.
    pub(super) async fn all(&self) -> Result<Vec<StoredKey>> {
        let mut keys = Vec::new();
        let consistently = |scan: ScanFluentBuilder| scan.consistent_read(true);
        scan(self.stack, self.table, consistently, async |page| {
            for item in page.items.unwrap_or_default() {
                match StoredKey::from_item(item) {
                    Some(key) => keys.push(key),
                    None => note(&format!("Skipped an item of {} that is no key record.", self.table)),
                }
            }
            Ok(())
        })
        .await?;
        keys.sort_by(|a, b| (a.record.created_at, &a.record.key_id).cmp(&(b.record.created_at, &b.record.key_id)));
        Ok(keys)
    }

    /// The key with this id.
    pub(super) async fn with_id(&self, id: &str) -> Result<StoredKey> {
        self.all().await?.into_iter().find(|key| key.record.key_id == id).with_context(|| no_such_key(id))
    }

    /// Revokes a key, unless it is already revoked.
    pub(super) async fn revoke(&self, key: &StoredKey, now: Timestamp) -> Result<()> {
        let update = self
            .update(key)
            // Without it, the update of a key that was just deleted would create a partial record.
            .condition_expression("attribute_exists(keyHash)")
            .update_expression("SET revokedAt = if_not_exists(revokedAt, :now)")
            .expression_attribute_values(":now", AttributeValue::S(now.to_string()));
        update.send().await.map(drop).map_err(|error| match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(_)) => anyhow!(no_such_key(&key.record.key_id)),
            _ => call_error(self.table, error),
        })
    }

    /// Sets the time at which a key expires. When the key is revoked or deleted or expires sooner, it writes nothing and returns
    /// `false`.
    pub(super) async fn expire(&self, key: &StoredKey, end: Timestamp) -> Result<bool> {
        let update = self
            .update(key)
            // The key was read a while ago: another command may have revoked it since, or given it a sooner end.
            .condition_expression(
                "attribute_exists(keyHash) AND attribute_not_exists(revokedAt) AND \
                 (attribute_not_exists(expiresAt) OR expiresAt >= :end)",
            )
            .update_expression("SET expiresAt = :end")
            .expression_attribute_values(":end", AttributeValue::N(end.seconds().to_string()));
        match update.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(call_error(self.table, error)),
            },
        }
    }

    /// Deletes the record of a key.
    pub(super) async fn delete(&self, key: &StoredKey) -> Result<()> {
        let delete = self.stack.client.delete_item().table_name(self.table);
        let delete = delete.key(PARTITION_KEY, AttributeValue::S(key.hash.clone()));
        delete.send().await.map(drop).map_err(|error| call_error(self.table, error))
    }

    fn update(&self, key: &StoredKey) -> UpdateItemFluentBuilder {
        self.changes();
        let update = self.stack.client.update_item().table_name(self.table);
        update.key(PARTITION_KEY, AttributeValue::S(key.hash.clone()))
    }
}

impl StoredKey {
    pub(super) fn new(hash: KeyHash, record: KeyRecord) -> Self {
        Self { hash: hash.partition_key(), record }
    }

    /// The hash; `None` for an item under another key, which is not a key.
    pub(super) fn hash(&self) -> Option<KeyHash> {
        self.hash.parse().ok()
    }

    fn from_item(item: Item) -> Option<Self> {
        Some(Self { hash: text(&item, PARTITION_KEY)?.to_owned(), record: KeyRecord::from_item(item).ok()? })
    }
}

fn no_such_key(id: &str) -> String {
    format!("The key {id} does not exist. `cargo intake keys list` lists the keys.")
}
