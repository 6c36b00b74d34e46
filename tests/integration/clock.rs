//! The time of tests that choose when each of their requests arrives.

use std::time::Duration;

use model::timestamp::Timestamp;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_000);

pub(crate) fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

pub(crate) fn earlier(seconds: u64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() - seconds * 1_000)
}
