//! What arrives from now on.
//!
//! A signal is stored a little later than the arrival that its key begins with, and not in that order: so what lies a
//! little back is read again and again, and what was listed is left out.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use model::timestamp::Timestamp;

use super::Listing;
use super::history::History;
use crate::item::text;

/// How often the table is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// How far back it is asked: longer than a function may take to store a request, with clocks that differ a little.
const LOOKING_BACK: Duration = Duration::from_secs(30);

/// Lists what arrives at or after `begin`. Returns only when something fails.
pub(super) async fn follow(history: &History<'_>, begin: Timestamp, listing: &mut Listing) -> Result<()> {
    let mut listed = HashSet::new();
    loop {
        let back = Timestamp::from_millis(Timestamp::now().millis().saturating_sub(millis(LOOKING_BACK)));
        let found = history.since(back.max(begin)).await?;
        let keys: HashSet<String> =
            found.iter().filter_map(|signal| text(signal, "sk")).map(ToOwned::to_owned).collect();
        let new: Vec<_> =
            found.into_iter().filter(|signal| text(signal, "sk").is_some_and(|key| !listed.contains(key))).collect();
        listing.add(&new)?;
        // What is no longer found lies too far back to be found again.
        listed = keys;
        tokio::time::sleep(INTERVAL).await;
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
