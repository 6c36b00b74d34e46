//! The key of `cargo intake verify`. Must not know what is sent with it.

use anyhow::{Context as _, Result};
use model::account::AccountId;
use model::api_key::ApiKey;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;

use super::key_table::{KeyTable, StoredKey};
use super::new_key::NewKey;
use crate::stack::Stack;

/// The key that `verify` creates for itself and deletes when it ends.
pub(crate) struct VerificationKey<'a> {
    key_table: KeyTable<'a>,
    key: ApiKey,
    stored: StoredKey,
}

impl<'a> VerificationKey<'a> {
    /// A key that expires at `end`. It is not stored yet.
    pub(crate) fn new(stack: &'a Stack, account: &AccountId, end: Timestamp) -> Result<Self> {
        let new = NewKey {
            account: account.clone(),
            name: "cargo intake verify".to_owned(),
            expires_in: None,
            only: None,
        };
        let entry = KeyEntry {
            expires_at: Some(end),
            ..new.into_entry()
        };
        let key =
            ApiKey::random_for_verification().context("Cannot get random bytes from the system")?;
        Ok(Self {
            key_table: KeyTable::new(stack)?,
            stored: StoredKey::new(key.hash(), entry),
            key,
        })
    }

    pub(crate) fn expose_secret(&self) -> &str {
        self.key.expose_secret()
    }

    pub(crate) async fn store(&self) -> Result<()> {
        self.key_table
            .add(&self.key.hash(), &self.stored.entry)
            .await?;
        Ok(())
    }

    /// Deletes the key. Functions that cached it accept it for up to a minute more.
    pub(crate) async fn delete(&self) -> Result<()> {
        self.key_table.delete(&self.stored).await
    }
}
