//! `keys revoke`: the end of a key.

use anyhow::Result;
use model::timestamp::Timestamp;
use serde_json::json;

use super::table::KeyTable;
use crate::confirm::confirm;
use crate::output::{Format, note, print_json};

pub(super) async fn revoke(keys: &KeyTable<'_>, id: &str, yes: bool, format: Format) -> Result<()> {
    let key = keys.with_id(id).await?;
    let (account_id, name) = (&key.record.account_id, &key.record.name);
    if let Some(revoked_at) = key.record.revoked_at {
        note(&format!("The key {id} is already revoked, since {revoked_at}."));
    } else {
        confirm(&format!("Revoke the key {id} ({name:?}) of the account {account_id}? This cannot be undone."), yes)?;
        keys.revoke(&key, Timestamp::now()).await?;
        note(&format!("Revoked {id}. Within a minute, every function rejects it."));
    }
    if format == Format::Json { print_json(&json!({"keyId": id, "revoked": true})) } else { Ok(()) }
}
