//! `keys revoke`: the end of a key.

use anyhow::Result;
use model::timestamp::Timestamp;
use serde::Serialize;

use super::table::KeyTable;
use crate::confirm::confirm;
use crate::output::{Format, json, note};
use crate::time_args::format_utc;

pub(super) async fn revoke(keys: &KeyTable, id: &str, yes: bool, format: Format) -> Result<()> {
    let key = keys.with_id(id).await?;
    let (account_id, name) = (&key.record.account_id, &key.record.name);
    if let Some(since) = key.record.revoked_at {
        note(&format!("The key {id} was revoked already, at {} UTC.", format_utc(since)));
    } else {
        confirm(&format!("Revoke the key {id} ({name:?}) of the account {account_id}, for good?"), yes)?;
        keys.revoke(&key, Timestamp::now()).await?;
        note(&format!("Revoked {id}. It is refused everywhere within a minute."));
    }
    if format.is_json() { json(&Revoked { key_id: id, revoked: true }) } else { Ok(()) }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Revoked<'a> {
    key_id: &'a str,
    revoked: bool,
}
