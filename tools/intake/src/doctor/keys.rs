//! Active API keys that end soon.

use anyhow::Result;
use model::timestamp::Timestamp;

use crate::check_result::Verdict;
use crate::keys::KeyTable;
use crate::stack::Stack;

pub(super) async fn expiries(stack: &Stack) -> Result<Verdict> {
    let now = Timestamp::now();
    let mut active = KeyTable::new(stack)?.all().await?;
    active.retain(|key| key.record.is_active(now));
    let ends = active.iter().map(|key| &key.record).filter(|record| !record.is_short_lived()).filter_map(|record| {
        let days = record.ends_soon(now)?.as_secs() / (24 * 60 * 60);
        Some(format!("{} of {} ends in {days} day(s)", record.key_id, record.account_id))
    });
    let seen = format!("{} active key(s), none ends within 30 days", active.len());
    Ok(Verdict::of(&ends.collect::<Vec<_>>(), seen))
}
