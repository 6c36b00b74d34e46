//! All keys of one account, for its erasure.

use anyhow::Result;
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::snapshot::publish_change;
use super::table::{KeyTable, StoredKey};
use crate::stack::Stack;

pub(crate) struct AccountKeys<'a> {
    table: KeyTable<'a>,
    keys: Vec<StoredKey>,
    read_at: Timestamp,
}

impl<'a> AccountKeys<'a> {
    pub(crate) async fn read(stack: &'a Stack, account: &AccountId) -> Result<Self> {
        let table = KeyTable::new(stack)?;
        let mut keys = table.all().await?;
        keys.retain(|key| key.record.account_id == *account);
        Ok(Self { table, keys, read_at: Timestamp::now() })
    }

    /// How many keys are active.
    pub(crate) fn active(&self) -> usize {
        self.keys.iter().filter(|key| key.record.is_active(self.read_at)).count()
    }

    /// Revokes those that are active.
    pub(crate) async fn revoke_all(&mut self) -> Result<()> {
        let now = Timestamp::now();
        for key in self.keys.iter_mut().filter(|key| key.record.is_active(self.read_at)) {
            self.table.revoke(key, now).await?;
            key.record.revoked_at = Some(now);
        }
        Ok(())
    }

    /// Writes the key snapshot, where there is one: also when an earlier run revoked the keys, and could not write it.
    pub(crate) async fn publish(&self) -> Result<()> {
        if self.keys.is_empty() { Ok(()) } else { publish_change(&self.table).await }
    }

    /// When the last of them was revoked.
    pub(crate) fn last_revocation(&self) -> Option<Timestamp> {
        self.keys.iter().filter_map(|key| key.record.revoked_at).max()
    }
}
