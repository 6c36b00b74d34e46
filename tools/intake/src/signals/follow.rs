//! Lists signals as they arrive, by reading the table again and again.
//!
//! A signal is stored a little later than the arrival time in its key, and signals are not stored in the order of their
//! keys. So the last seconds are read again and again, and what was already listed is left out.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use model::timestamp::Timestamp;

use super::listing::Listing;
use crate::item::{Item, text};
use crate::time_args::before;

/// How often the table is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// How far back each read reaches: longer than a function may take to store a request, and than clocks may differ.
const LOOK_BACK: Duration = Duration::from_secs(30);

/// Lists what `read` finds of the signals that arrive at or after `begin`. Returns only when something fails.
pub(super) async fn follow(
    read: impl AsyncFn(Timestamp) -> Result<Vec<Item>>,
    begin: Timestamp,
    listing: &mut Listing,
) -> Result<()> {
    let mut listed = HashSet::new();
    loop {
        let mut signals = read(before(Timestamp::now(), LOOK_BACK).max(begin)).await?;
        let keys: HashSet<_> = signals.iter().filter_map(key).collect();
        signals.retain(|signal| key(signal).is_some_and(|key| !listed.contains(&key)));
        listing.add(&signals)?;
        // The next read reaches less far back: it does not find other keys again.
        listed = keys;
        tokio::time::sleep(INTERVAL).await;
    }
}

fn key(signal: &Item) -> Option<(String, String)> {
    Some((text(signal, "pk")?.to_owned(), text(signal, "sk")?.to_owned()))
}
