//! Active API keys that end soon, and the key snapshot.

use anyhow::Result;
use model::timestamp::Timestamp;

use super::finding::Finding;
use crate::keys::active_keys;
use crate::keys::snapshot::{self, Comparison};
use crate::stack::Stack;

pub(super) async fn expiries(stack: &Stack) -> Result<Finding> {
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

/// Functions cannot tell a missing snapshot from one that they may not read: only here is it seen.
pub(super) async fn key_snapshot(stack: &Stack) -> Result<Finding> {
    const CHECK: &str = "Key snapshot";
    let Some(bucket) = snapshot::bucket(stack)? else {
        return Ok(Finding::skipped(CHECK, "this stack has no bucket for one"));
    };
    Ok(match snapshot::compare(stack, &bucket).await? {
        Comparison::Same(count) => Finding::held(CHECK, format!("{count} key(s), as in the table")),
        Comparison::Different(fault) => Finding::failed(CHECK, format!("{fault}: run `cargo intake keys publish`")),
    })
}
