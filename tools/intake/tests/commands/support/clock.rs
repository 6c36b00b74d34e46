//! Times before now, at which signals arrived and keys were revoked.

use std::time::Duration;

use model::timestamp::Timestamp;

pub(crate) fn hours_ago(hours: u64) -> Timestamp {
    let ago = Duration::from_hours(hours).as_millis();
    let ago = u64::try_from(ago).unwrap();
    Timestamp::from_millis(Timestamp::now().millis() - ago)
}

pub(crate) fn days_ago(days: u64) -> Timestamp {
    hours_ago(24 * days)
}
