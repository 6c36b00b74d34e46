//! Active API keys that end soon, and the key snapshot.

use anyhow::Result;
use model::timestamp::Timestamp;

use crate::check_result::Verdict;
use crate::keys::active_keys;
use crate::keys::snapshot::{self, Comparison};
use crate::stack::Stack;

pub(super) async fn expiries(stack: &Stack) -> Result<Verdict> {
    let now = Timestamp::now();
    let active = active_keys(stack).await?;
    let ends = active.iter().filter(|record| !record.is_short_lived()).filter_map(|record| {
        let days = record.ends_soon(now)?.as_secs() / (24 * 60 * 60);
        Some(format!("{} of {} ends in {days} day(s)", record.key_id, record.account_id))
    });
    let seen = format!("{} active key(s), none ends within 30 days", active.len());
    Ok(Verdict::of(&ends.collect::<Vec<_>>(), seen))
}

/// Functions cannot tell a missing snapshot from one that they may not read: only here is it seen.
pub(super) async fn key_snapshot(stack: &Stack) -> Result<Verdict> {
    let Some(bucket) = snapshot::bucket(stack)? else {
        return Ok(Verdict::skipped("this stack has no bucket for one"));
    };
    Ok(match snapshot::compare(stack, &bucket).await? {
        Comparison::Same(count) => Verdict::held(format!("{count} key(s), as in the table")),
        Comparison::Different(fault) => Verdict::failed(format!("{fault}: run `cargo intake keys publish`")),
    })
}
