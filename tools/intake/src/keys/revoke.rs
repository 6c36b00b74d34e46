//! `keys revoke`: the end of a key.

use anyhow::{Context as _, Error, Result, anyhow};
use model::timestamp::Timestamp;
use serde_json::json;

use super::snapshot::{self, bucket};
use super::table::{KeyTable, no_such_key};
use crate::confirm::confirm;
use crate::output::{Format, note, print_json};

pub(super) async fn revoke(keys: &KeyTable<'_>, id: &str, yes: bool, format: Format) -> Result<()> {
    let key = match keys.all().await {
        Ok(all) => all.into_iter().find(|key| key.record.key_id == id).with_context(|| no_such_key(id))?,
        Err(error) => return revoke_without_table(keys, id, yes, error).await,
    };
    let (account_id, name) = (&key.record.account_id, &key.record.name);
    if let Some(revoked_at) = key.record.revoked_at {
        note(&format!("The key {id} is already revoked, since {revoked_at}."));
    } else {
        confirm(&format!("Revoke the key {id} ({name:?}) of the account {account_id}? This cannot be undone."), yes)?;
        if let Err(error) = keys.revoke(&key, Timestamp::now()).await {
            return revoke_without_table(keys, id, true, error).await;
        }
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

/// Revokes the key in the snapshot, because the table failed with this error. It always returns an error: the table lacks the
/// revocation.
async fn revoke_without_table(keys: &KeyTable<'_>, id: &str, yes: bool, error: Error) -> Result<()> {
    let Some(bucket) = bucket(keys.stack).await? else { return Err(error) };
    confirm(&format!("{error:#} Revoke the key {id} in the key snapshot? This cannot be undone."), yes)?;
    // To write the snapshot from the table would need the table.
    keys.is_changed.set(false);
    snapshot::revoke(&bucket, id)
        .await
        .with_context(|| format!("{error:#} The key {id} is not revoked in the key snapshot either"))?;
    Err(anyhow!(
        "{error:#} The key {id} is revoked in the key snapshot only: functions that get no answer from the key table reject it \
         within two minutes, while S3 answers. Run this command again until the key table has the revocation."
    ))
}
