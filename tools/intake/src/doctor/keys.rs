//! Active API keys that end soon.

use anyhow::Result;
use model::timestamp::Timestamp;

use super::Finding;
use crate::keys::active_keys;
use crate::stack::Stack;

pub(super) async fn check(stack: &Stack) -> Result<Finding> {
    const CHECK: &str = "Key expiries";
    let now = Timestamp::now();
    let active = active_keys(stack).await?;
    let ends = active.iter().filter(|record| !record.is_short_lived()).filter_map(|record| {
        let days = record.ends_soon(now)?.as_secs() / (24 * 60 * 60);
        Some(format!("{} of {} ends in {days} day(s)", record.key_id, record.account_id))
    });
    Ok(Finding::of(
        CHECK,
        &ends.collect::<Vec<_>>(),
        format!("{} active key(s), none ends within 30 days", active.len()),
    ))
}
