//! `signals list --follow`: lists signals as they arrive.
//!
//! A signal is stored a little later than the arrival time in its key, and signals are not stored in the order of their
//! keys. So the last seconds are read again and again, and what was already listed is left out.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use model::timestamp::Timestamp;

use super::Listing;
use super::history::History;
use crate::item::text;
use crate::time_args::before;

/// How often the table is queried.
const INTERVAL: Duration = Duration::from_secs(1);

/// How far back each query reaches: longer than a function may take to store a request, and than clocks may differ.
const LOOK_BACK: Duration = Duration::from_secs(30);

/// Lists what arrives at or after `begin`. Returns only when something fails.
pub(super) async fn follow(history: &History<'_>, begin: Timestamp, listing: &mut Listing) -> Result<()> {
    let mut listed = HashSet::new();
    loop {
        let mut signals = history.since(before(Timestamp::now(), LOOK_BACK).max(begin)).await?;
        let keys: HashSet<String> =
            signals.iter().filter_map(|signal| text(signal, "sk")).map(ToOwned::to_owned).collect();
        signals.retain(|signal| text(signal, "sk").is_some_and(|key| !listed.contains(key)));
        listing.add(&signals)?;
        // The next query reaches less far back: it does not find other keys again.
        listed = keys;
        tokio::time::sleep(INTERVAL).await;
    }
}
