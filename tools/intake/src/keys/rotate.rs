//! `keys rotate`: a new key in place of another, which goes on for a while.

use anyhow::{Result, anyhow, bail};
use model::timestamp::Timestamp;

use super::Rotate;
use super::create::{issue, record};
use super::table::KeyTable;
use crate::confirm::confirm;
use crate::output::{Format, note};
use crate::time_args::format_utc;

pub(super) async fn rotate(keys: &KeyTable, rotate: Rotate, format: Format) -> Result<()> {
    let old = keys.with_id(&rotate.id).await?;
    let now = Timestamp::now();
    if !old.record.is_live(now) {
        bail!("The key {} opens nothing any more: make a new one with `keys create`.", rotate.id);
    }
    if rotate.overlap.is_zero() {
        confirm(&format!("End the key {} ({:?}) at once?", rotate.id, old.record.name), rotate.yes)?;
    }
    let lifetime = rotate.expires_in.or_else(|| old.record.expires_at.map(|end| end.since(old.record.created_at)));
    let new = record(old.record.account_id.clone(), old.record.name.clone(), lifetime);
    issue(keys, &new, format).await?;
    // The clock again: from here on, and not from before the question, the old key goes on for `overlap`.
    let end = Timestamp::now().after(rotate.overlap);
    keys.expire(&old, end).await.map_err(|error| {
        anyhow!("The new key stands, but the old one goes on: revoke {} when nobody uses it. {error}", rotate.id)
    })?;
    let end = old.record.expires_at.map_or(end, |sooner| sooner.min(end));
    note(&format!("The old key {} opens nothing from {} UTC on, give or take a minute.", rotate.id, format_utc(end)));
    Ok(())
}
