//! `keys rotate`: a new key that replaces an old one, which stays valid for an overlap.

use anyhow::{Context as _, Result, bail};
use model::timestamp::Timestamp;
use store::api_keys::KeyStatus;

use super::create::create;
use super::table::KeyTable;
use super::{NewKey, Rotate};
use crate::confirm::confirm;
use crate::output::{Format, note};
use crate::time_args::format_utc;

pub(super) async fn rotate(keys: &KeyTable<'_>, rotate: Rotate, format: Format) -> Result<()> {
    let Rotate { id, overlap, expires_in, yes } = rotate;
    let old = keys.with_id(&id).await?;
    let record = &old.record;
    if record.status(Timestamp::now()) != KeyStatus::Active {
        bail!("The key {id} is not active. Create a new one with `cargo intake keys create`.");
    }
    if overlap.is_zero() {
        confirm(&format!("Expire the key {id} ({:?}) now?", record.name), yes)?;
    }
    let expires_in = expires_in.or_else(|| record.expires_at.map(|end| end.duration_since(record.created_at)));
    let new = NewKey { account: record.account_id.clone(), name: record.name.clone(), expires_in, only: record.only };
    create(keys, &new.into_record(), format).await?;
    // The overlap begins when the new key exists, not when the question was asked.
    let end = Timestamp::now().plus(overlap);
    let end = record.expires_at.map_or(end, |sooner| sooner.min(end));
    keys.expire(&old, end)
        .await
        .with_context(|| format!("The new key is stored, but the old key {id} did not get an end: revoke it later"))?;
    note(&format!("The old key {id} expires at {} UTC.", format_utc(end)));
    Ok(())
}
