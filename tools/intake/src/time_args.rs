//! Times and durations as people write and read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::timestamp::Timestamp;

/// A duration such as `90d`, `24h` or `0s`.
///
/// # Errors
/// Anything else, in a sentence.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    humantime::parse_duration(text).map_err(|_| "write a duration such as 30m, 24h or 90d".to_owned())
}

/// A moment such as `2026-11-20T22:16:40Z` or `2026-11-20` (UTC), or how long ago it was, such as `1h`.
///
/// # Errors
/// Anything else, in a sentence.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let of = |since_epoch: Duration| Timestamp::from_millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX));
    if let Ok(ago) = duration(text) {
        let now = Duration::from_millis(Timestamp::now().millis());
        return Ok(of(now.saturating_sub(ago)));
    }
    humantime::parse_rfc3339_weak(text)
        .or_else(|_| humantime::parse_rfc3339_weak(&format!("{text}T00:00:00")))
        .ok()
        .and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok())
        .map(of)
        .ok_or_else(|| "write a time such as 2026-11-20, 2026-11-20T22:16:40Z, or 1h for an hour ago".to_owned())
}

/// A moment for a person: UTC, to the second.
pub(crate) fn format_utc(moment: Timestamp) -> String {
    let text = moment.to_string();
    format!("{} {}", text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_a_time_or_how_long_ago() {
        assert_eq!(timestamp("2026-11-20").unwrap().to_string(), "2026-11-20T00:00:00.000Z");
        assert_eq!(timestamp("2026-11-20T22:16:40Z").unwrap().to_string(), "2026-11-20T22:16:40.000Z");
        assert_eq!(timestamp("2026-11-20T22:16:40.009Z").unwrap().to_string(), "2026-11-20T22:16:40.009Z");
        assert!(Timestamp::now().since(timestamp("1h").unwrap()) >= Duration::from_hours(1));
        for wrong in ["", "yesterday", "2026-13-01", "1"] {
            assert!(timestamp(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_person_reads_seconds_in_utc() {
        assert_eq!(format_utc(Timestamp::from_millis(1_795_213_000_009)), "2026-11-20 22:16:40");
    }
}
