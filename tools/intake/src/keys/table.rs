//! What only an operator does with the table ApiKeys: find a key by its id, end one.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use model::api_key::KeyHash;
use model::deadline::Budget;
use model::timestamp::Timestamp;
use store::api_keys::{ApiKeys, CreateError, KeyRecord};

use crate::error::{call_error, store_error};
use crate::output::note;
use crate::progress;
use crate::stack::{Stack, Table, WRITE_TIMEOUT};

/// A key in the table.
#[derive(Debug)]
pub(super) struct StoredKey {
    hash: String,
    pub(super) record: KeyRecord,
}

/// The table.
pub(super) struct KeyTable {
    stack: Stack,
    table: String,
}

impl KeyTable {
    pub(super) fn of(stack: Stack) -> Result<Self> {
        let table = stack.table(Table::ApiKeys)?.to_owned();
        Ok(Self { stack, table })
    }

    /// Adds a key; `false` if it was there already.
    pub(super) async fn add(&self, hash: &KeyHash, record: &KeyRecord) -> Result<bool> {
        let keys = ApiKeys::new(self.stack.client.clone(), &self.table);
        match keys.create(hash, record, Budget::lasting(WRITE_TIMEOUT)).await {
            Ok(()) => Ok(true),
            Err(CreateError::Exists) => Ok(false),
            Err(CreateError::Store(error)) => Err(store_error(&self.table, &error)),
        }
    }

    /// All keys, the newest last. The table is keyed by hash, so this reads the whole of it.
    pub(super) async fn all(&self) -> Result<Vec<StoredKey>> {
        let bar = progress::scan(&self.table);
        let scan = self.stack.client.scan().table_name(&self.table).consistent_read(true);
        let mut items = scan.into_paginator().items().send();
        let (mut keys, mut ill_formed) = (Vec::new(), 0_usize);
        while let Some(item) = items.next().await {
            let item = item.map_err(|error| call_error(&self.table, error))?;
            bar.inc(1);
            match read(&item) {
                Some(key) => keys.push(key),
                None => ill_formed = ill_formed.saturating_add(1),
            }
        }
        bar.finish_and_clear();
        if ill_formed > 0 {
            note(&format!("Left out: {ill_formed} items of {} that are no records of keys.", self.table));
        }
        keys.sort_by(|a, b| (a.record.created_at, &a.record.key_id).cmp(&(b.record.created_at, &b.record.key_id)));
        Ok(keys)
    }

    /// The key with this id.
    pub(super) async fn with_id(&self, id: &str) -> Result<StoredKey> {
        self.all().await?.into_iter().find(|key| key.record.key_id == id).ok_or_else(|| no_such_key(id))
    }

    /// Revokes a key as of `now`, unless it is revoked.
    pub(super) async fn revoke(&self, key: &StoredKey, now: Timestamp) -> Result<()> {
        let update = self
            .change(key)
            .update_expression("SET revokedAt = if_not_exists(revokedAt, :now)")
            .expression_attribute_values(":now", AttributeValue::S(now.to_string()));
        self.send(update, key).await
    }

    /// Has a key expire at `end`, unless it does so sooner.
    pub(super) async fn expire(&self, key: &StoredKey, end: Timestamp) -> Result<()> {
        if key.record.expires_at.is_some_and(|sooner| sooner <= end) {
            return Ok(());
        }
        let update = self
            .change(key)
            .update_expression("SET expiresAt = :end")
            .expression_attribute_values(":end", AttributeValue::N(end.seconds().to_string()));
        self.send(update, key).await
    }

    fn change(&self, key: &StoredKey) -> UpdateItemFluentBuilder {
        self.stack
            .client
            .update_item()
            .table_name(&self.table)
            .key("keyHash", AttributeValue::S(key.hash.clone()))
            // Without it, a key that somebody has deleted meanwhile would come back as half a record.
            .condition_expression("attribute_exists(keyHash)")
    }

    async fn send(&self, update: UpdateItemFluentBuilder, key: &StoredKey) -> Result<()> {
        match update.send().await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("ConditionalCheckFailedException") => {
                Err(no_such_key(&key.record.key_id))
            }
            Err(error) => Err(call_error(&self.table, error)),
        }
    }
}

fn no_such_key(id: &str) -> anyhow::Error {
    anyhow!("There is no key {id}: see `cargo intake keys list`.")
}

fn read(item: &HashMap<String, AttributeValue>) -> Option<StoredKey> {
    Some(StoredKey { hash: item.get("keyHash")?.as_s().ok()?.clone(), record: KeyRecord::from_item(item)? })
}
