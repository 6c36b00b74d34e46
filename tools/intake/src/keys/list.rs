//! What is known of keys. Their values are not: only hashes are stored, and not even those are shown.

use anyhow::Result;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use store::api_keys::KeyRecord;

use super::table::KeyTable;
use crate::output::{Format, Table, json, note};
use crate::time_args::format_utc;

pub(super) async fn list(keys: &KeyTable, account: Option<&AccountId>, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let found = keys.all().await?;
    let found: Vec<_> = found
        .iter()
        .map(|key| &key.record)
        .filter(|key| account.is_none_or(|account| key.account_id == *account))
        .collect();
    if format.is_json() {
        return found.iter().try_for_each(|record| json(&KeyRow::of(record, now)));
    }
    if found.is_empty() {
        note("No keys.");
        return Ok(());
    }
    let mut table = Table::with_heading(["ID", "ACCOUNT", "NAME", "STATE", "CREATED", "EXPIRES"]);
    for record in found {
        let expires = record.expires_at.map_or_else(|| "never".to_owned(), format_utc);
        let created = format_utc(record.created_at);
        table.row([&record.key_id, record.account_id.as_str(), &record.name, state(record, now), &created, &expires]);
    }
    table.print()
}

pub(super) async fn show(keys: &KeyTable, id: &str, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let record = keys.with_id(id).await?.record;
    if format.is_json() {
        return json(&KeyRow::of(&record, now));
    }
    let mut table = Table::of_members();
    table.row(["id", &record.key_id]);
    table.row(["account", record.account_id.as_str()]);
    table.row(["name", &record.name]);
    table.row(["state", state(&record, now)]);
    table.row(["created", &format_utc(record.created_at)]);
    table.row(["expires", &record.expires_at.map_or_else(|| "never".to_owned(), format_utc)]);
    if let Some(revoked) = record.revoked_at {
        table.row(["revoked", &format_utc(revoked)]);
    }
    table.print()
}

fn state(record: &KeyRecord, now: Timestamp) -> &'static str {
    if record.revoked_at.is_some() {
        "revoked"
    } else if record.is_live(now) {
        "active"
    } else {
        "expired"
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyRow<'a> {
    key_id: &'a str,
    account_id: &'a str,
    name: &'a str,
    state: &'static str,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
}

impl<'a> KeyRow<'a> {
    fn of(record: &'a KeyRecord, now: Timestamp) -> Self {
        Self {
            key_id: &record.key_id,
            account_id: record.account_id.as_str(),
            name: &record.name,
            state: state(record, now),
            created_at: record.created_at.to_string(),
            expires_at: record.expires_at.map(|end| end.to_string()),
            revoked_at: record.revoked_at.map(|revoked| revoked.to_string()),
        }
    }
}
