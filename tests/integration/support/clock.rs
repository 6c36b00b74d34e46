//! The time of tests that choose when each of their requests arrives.

use std::time::Duration;

use model::timestamp::Timestamp;

/// 2026-11-20T22:33:44.123Z, which is also the time of the examples in the documentation.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_123);

pub(crate) fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

pub(crate) fn earlier(seconds: u64) -> Timestamp {
    Timestamp::from_millis(NOW.millis() - seconds * 1_000)
}
