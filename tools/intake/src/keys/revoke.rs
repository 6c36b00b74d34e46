//! `keys revoke`: the end of a key.

use anyhow::Result;
use model::timestamp::Timestamp;
use serde_json::json;

use super::snapshot::bucket;
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
        let exception = match bucket(keys.stack).await? {
            Some(_) => {
                "One that gets no answer from the key table goes by the key snapshot: within two minutes, while S3 answers."
            }
            None => "One that cannot read the key table may accept it for 15 minutes.",
        };
        note(&format!("Revoked {id}. Within a minute, every function rejects it. {exception}"));
    }
    if format == Format::Json { print_json(&json!({"keyId": id, "revoked": true})) } else { Ok(()) }
}
