//! Keys that a command creates for itself and deletes when it ends.

use anyhow::{Context as _, Result};
use model::account::AccountId;
use model::api_key::{ApiKey, Endpoint};
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;

use super::new_key::NewKey;
use super::table::{KeyTable, StoredKey};
use crate::stack::Stack;

pub(crate) struct TemporaryKeys<'a> {
    table: KeyTable<'a>,
    account: &'a AccountId,
    keys: Vec<StoredKey>,
}

impl<'a> TemporaryKeys<'a> {
    pub(crate) fn new(stack: &'a Stack, account: &'a AccountId) -> Result<Self> {
        Ok(Self { table: KeyTable::new(stack)?, account, keys: Vec::new() })
    }

    /// A key that expires at `end`, and is only for one endpoint if there is an `only`.
    pub(crate) async fn create(&mut self, end: Timestamp, only: Option<Endpoint>) -> Result<ApiKey> {
        let (account, name) = (self.account.clone(), "cargo intake verify".to_owned());
        let new = NewKey { account, name, expires_in: None, only };
        let record = KeyEntry { expires_at: Some(end), ..new.into_record() };
        let key = ApiKey::random_for_verification().context("Cannot get random bytes from the system")?;
        // Before the call: an interrupted one may have written the record.
        self.keys.push(StoredKey::new(key.hash(), record.clone()));
        self.table.add(&key.hash(), &record).await?;
        Ok(key)
    }

    /// Deletes the keys: functions that cached one accept it for up to a minute more. Returns how many there were.
    pub(crate) async fn delete(&self) -> Result<usize> {
        for key in &self.keys {
            self.table.delete(key).await?;
        }
        Ok(self.keys.len())
    }
}
