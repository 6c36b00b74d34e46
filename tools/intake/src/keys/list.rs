//! `keys list`: the keys of the table, and which of them only the key snapshot has revoked. Must not
//! know how a key is revoked.

use anyhow::Result;
use clap::Args;
use futures_util::future::join;
use model::account::AccountId;
use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::key_snapshot::KeySnapshot;

use super::key_table::{KeyTable, StoredKey};
use super::snapshot;
use crate::output::{Format, PrintedTable, note};

#[derive(Args, Debug)]
pub(crate) struct ListKeys {
    /// Only the keys of this account
    #[arg(long, value_name = "NAME")]
    account: Option<AccountId>,

    /// Only keys that are neither expired nor revoked in the key table
    #[arg(long)]
    active: bool,
}

impl ListKeys {
    pub(super) async fn run(&self, key_table: &KeyTable<'_>, format: Format) -> Result<()> {
        let now = Timestamp::now();
        let reads = join(key_table.all(), snapshot::read(key_table.stack));
        let (stored_keys, snapshot) = reads.await;
        let mut stored_keys = stored_keys?;
        let snapshot = snapshot.unwrap_or_else(|error| {
            note(&format!(
                "The key snapshot cannot be read: a key that only the snapshot has revoked is not shown as that. {error:#}"
            ));
            None
        });
        stored_keys.retain(|key| self.is_wanted(&key.entry, now));
        if stored_keys.is_empty() {
            note("No keys.");
            return Ok(());
        }
        // `--json` has the time of revocation, too.
        let headings = [
            "ID", "ACCOUNT", "NAME", "STATE", "ONLY", "CREATED", "EXPIRES",
        ];
        let mut rows = PrintedTable::new(format, headings).cut_to_terminal();
        for key in &stored_keys {
            let listed = ListedKey {
                entry: &key.entry,
                revoked_in_snapshot_only: revoked_in_snapshot_only(key, snapshot.as_ref()),
            };
            if listed.revoked_in_snapshot_only.is_some() {
                note_missing_revocation(&key.entry.key_id);
            }
            listed.add_row(&mut rows, now)?;
        }
        rows.print()
    }

    fn is_wanted(&self, entry: &KeyEntry, now: Timestamp) -> bool {
        let is_of_account = self
            .account
            .as_ref()
            .is_none_or(|account| entry.account_id == *account);
        is_of_account && (!self.active || entry.is_active(now))
    }
}

/// A key as it is listed.
struct ListedKey<'a> {
    entry: &'a KeyEntry,
    /// When the key was revoked, if only the snapshot has the revocation.
    revoked_in_snapshot_only: Option<Timestamp>,
}

impl ListedKey<'_> {
    fn add_row(&self, rows: &mut PrintedTable, now: Timestamp) -> Result<()> {
        let entry = self.entry;
        let created = entry.created_at.to_string();
        let expires = entry
            .expires_at
            .map_or_else(|| "never".to_owned(), |end| end.to_string());
        let cells = [
            entry.key_id.as_str(),
            entry.account_id.as_str(),
            entry.name.as_str(),
            self.state(now),
            entry.only.map_or("-", Endpoint::as_str),
            &created,
            &expires,
        ];
        rows.add(&self.json(now), cells)
    }

    fn state(&self, now: Timestamp) -> &'static str {
        if self.revoked_in_snapshot_only.is_some() {
            return "revoked in snapshot";
        }
        self.entry.status(now).as_str()
    }

    fn json(&self, now: Timestamp) -> Value {
        let entry = self.entry;
        let revoked_at = entry.revoked_at.or(self.revoked_in_snapshot_only);
        json!({
            "keyId": entry.key_id,
            "accountId": entry.account_id.as_str(),
            "name": entry.name,
            "state": self.state(now),
            "createdAt": entry.created_at.to_string(),
            "expiresAt": entry.expires_at.map(|end| end.to_string()),
            "only": entry.only,
            "revokedAt": revoked_at.map(|revoked_at| revoked_at.to_string()),
        })
    }
}

/// When a key was revoked that is revoked in the snapshot and not in the table.
fn revoked_in_snapshot_only(key: &StoredKey, snapshot: Option<&KeySnapshot>) -> Option<Timestamp> {
    if key.entry.revoked_at.is_some() {
        return None;
    }
    snapshot?.find(key.hash()?)?.revoked_at
}

fn note_missing_revocation(id: &str) {
    note(&format!(
        "Only the key snapshot has the revocation of {id}: functions accept the key while the key table answers. Run \
         `cargo intake keys revoke {id}` until it exits 0."
    ));
}
