//! `keys list`: what is stored of keys. Not even their hashes are shown.

use anyhow::Result;
use clap::Args;
use model::account::AccountId;
use model::api_key::Endpoint;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use super::table::KeyTable;
use crate::output::{Format, Table, note};

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only the keys of this account
    #[arg(long, value_name = "NAME")]
    account: Option<AccountId>,

    /// Only keys that are neither expired nor revoked
    #[arg(long)]
    active: bool,
}

impl List {
    pub(super) async fn run(&self, keys: &KeyTable<'_>, format: Format) -> Result<()> {
        let now = Timestamp::now();
        let mut keys = keys.all().await?;
        keys.retain(|key| self.account.as_ref().is_none_or(|account| key.record.account_id == *account));
        keys.retain(|key| !self.active || key.record.is_active(now));
        if keys.is_empty() {
            note("No keys.");
            return Ok(());
        }
        // `--json` has the time of revocation, too.
        let headings = ["ID", "ACCOUNT", "NAME", "STATE", "ONLY", "CREATED", "EXPIRES"];
        let mut table = Table::new(format, headings).cut_to_terminal();
        for record in keys.iter().map(|key| &key.record) {
            let KeyEntry { key_id, account_id, name, .. } = record;
            let only = record.only.map_or("-", Endpoint::as_str);
            let state = record.status(now).as_str();
            let (created, expires) = (record.created_at.to_string(), expiry(record));
            table.add(&key_row(record, now), [key_id, account_id.as_str(), name, state, only, &created, &expires])?;
        }
        table.print()
    }
}

fn expiry(record: &KeyEntry) -> String {
    record.expires_at.map_or_else(|| "never".to_owned(), |end| end.to_string())
}

fn key_row(record: &KeyEntry, now: Timestamp) -> Value {
    json!({
        "keyId": record.key_id,
        "accountId": record.account_id.as_str(),
        "name": record.name,
        "state": record.status(now).as_str(),
        "createdAt": record.created_at.to_string(),
        "expiresAt": record.expires_at.map(|end| end.to_string()),
        "only": record.only,
        "revokedAt": record.revoked_at.map(|revoked_at| revoked_at.to_string()),
    })
}
