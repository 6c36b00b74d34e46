//! `keys list` and `keys show`: what is stored of keys. Not even their hashes are shown.

use anyhow::Result;
use model::api_key::Endpoint;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::api_keys::KeyRecord;

use super::List;
use super::table::KeyTable;
use crate::output::{Format, Table, note, print_json};

pub(super) async fn list(keys: &KeyTable<'_>, list: &List, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let mut keys = keys.all().await?;
    keys.retain(|key| list.account.as_ref().is_none_or(|account| key.record.account_id == *account));
    keys.retain(|key| !list.active || key.record.is_active(now));
    if format == Format::Json {
        return keys.iter().try_for_each(|key| print_json(&key_row(&key.record, now)));
    }
    if keys.is_empty() {
        note("No keys.");
        return Ok(());
    }
    // `keys show` and `--json` have the time of creation, too.
    let mut table = Table::with_heading(["ID", "ACCOUNT", "NAME", "STATE", "ONLY", "EXPIRES"]).cut_to_terminal();
    for record in keys.iter().map(|key| &key.record) {
        let KeyRecord { key_id, account_id, name, .. } = record;
        let end = match ends_soon(record, now) {
            Some(left) => format!("{} ({left} left)", expiry(record)),
            None => expiry(record),
        };
        let only = record.only.map_or("-", Endpoint::as_str);
        let state = record.status(now).as_str();
        table.row([key_id, account_id.as_str(), name, state, only, &end]);
    }
    table.print()
}

pub(super) async fn show(keys: &KeyTable<'_>, id: &str, format: Format) -> Result<()> {
    let now = Timestamp::now();
    let record = keys.with_id(id).await?.record;
    if format == Format::Json {
        return print_json(&key_row(&record, now));
    }
    let mut table = Table::with_names();
    table.row(["id", &record.key_id]);
    table.row(["account", record.account_id.as_str()]);
    table.row(["name", &record.name]);
    table.row(["state", record.status(now).as_str()]);
    table.row(["created", &record.created_at.to_string()]);
    table.row(["expires", &expiry(&record)]);
    if let Some(only) = record.only {
        table.row(["only", only.as_str()]);
    }
    if let Some(revoked_at) = record.revoked_at {
        table.row(["revoked", &revoked_at.to_string()]);
    }
    table.print()
}

pub(super) fn expiry(record: &KeyRecord) -> String {
    record.expires_at.map_or_else(|| "never".to_owned(), |end| end.to_string())
}

/// How long an active key is still valid, in days or hours, if that is not long.
fn ends_soon(record: &KeyRecord, now: Timestamp) -> Option<String> {
    let hours = record.ends_soon(now)?.as_secs() / 3600;
    Some(if hours < 48 { format!("{hours} h") } else { format!("{} d", hours / 24) })
}

fn key_row(record: &KeyRecord, now: Timestamp) -> Value {
    json!({
        "keyId": record.key_id,
        "accountId": record.account_id.as_str(),
        "name": record.name,
        "state": record.status(now).as_str(),
        "createdAt": record.created_at.to_string(),
        "endsSoon": ends_soon(record, now).is_some(),
        "expiresAt": record.expires_at.map(|end| end.to_string()),
        "only": record.only,
        "revokedAt": record.revoked_at.map(|revoked_at| revoked_at.to_string()),
    })
}
