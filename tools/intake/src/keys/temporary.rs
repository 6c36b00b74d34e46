//! Keys that a command creates for itself and deletes when it ends.

use std::time::Duration;

use anyhow::{Context as _, Result};
use model::account::AccountId;
use model::api_key::{ApiKey, Endpoint};
use model::timestamp::Timestamp;

use super::new_key::NewKey;
use super::table::{KeyTable, StoredKey};
use crate::stack::Stack;
use crate::time_args::before;

/// How long they are valid, should the command not be able to delete them.
const LIFETIME: Duration = Duration::from_hours(1);

pub(crate) struct TemporaryKeys<'a> {
    table: KeyTable<'a>,
    account: &'a AccountId,
    keys: Vec<StoredKey>,
}

impl<'a> TemporaryKeys<'a> {
    pub(crate) fn new(stack: &'a Stack, account: &'a AccountId) -> Result<Self> {
        Ok(Self { table: KeyTable::new(stack)?, account, keys: Vec::new() })
    }

    /// A key that is valid for an hour, and only for one endpoint if there is an `only`.
    pub(crate) async fn create(&mut self, only: Option<Endpoint>) -> Result<ApiKey> {
        self.add(Some(LIFETIME), only).await
    }

    /// A key that expired an hour ago.
    pub(crate) async fn create_expired(&mut self) -> Result<ApiKey> {
        self.add(None, None).await
    }

    async fn add(&mut self, expires_in: Option<Duration>, only: Option<Endpoint>) -> Result<ApiKey> {
        let new = NewKey { account: self.account.clone(), name: "cargo intake verify".to_owned(), expires_in, only };
        let mut record = new.into_record();
        record.expires_at = record.expires_at.or_else(|| Some(before(Timestamp::now(), LIFETIME)));
        let key = ApiKey::random_for_verification().context("Cannot get random bytes from the system")?;
        // Before the call: an interrupted one may have written the record.
        self.keys.push(StoredKey::new(key.hash(), record.clone()));
        self.table.add(&key.hash(), &record).await?;
        Ok(key)
    }

    /// The ids of the keys.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.keys.iter().map(|key| key.record.key_id.as_str()).collect()
    }

    /// Deletes the keys: functions that cached one accept it for up to a minute more.
    pub(crate) async fn delete(&self) -> Result<()> {
        for key in &self.keys {
            self.table.delete(key).await?;
        }
        Ok(())
    }
}
