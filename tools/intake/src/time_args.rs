//! Times and durations on the command line. Must not know what they limit.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::timestamp::Timestamp;

/// Parses a duration such as `90d`, `24h` or `0s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "write a duration such as 30m, 24h or 90d".to_owned())
}

/// Parses a time such as `2026-11-20T22:16:40Z` or `2026-11-20` (UTC), or an age such as `1h`, which
/// is the time an hour ago.
pub(crate) fn time_or_age(text: &str) -> Result<Timestamp, String> {
    match duration(text) {
        Ok(age) => Ok(Timestamp::now().minus(age)),
        Err(_) => fixed_time(text).map_err(|error| format!("{error}, or 1h for an hour ago")),
    }
}

/// Parses a time such as `2026-11-20T22:16:40Z` or `2026-11-20` (UTC), which is the same whenever
/// it is parsed.
pub(crate) fn fixed_time(text: &str) -> Result<Timestamp, String> {
    // humantime ignores an offset after a fraction, so that its time would be a wrong one.
    let has_offset = text.contains('+');
    humantime::parse_rfc3339_weak(text)
        .or_else(|_| humantime::parse_rfc3339_weak(&format!("{text}T00:00:00")))
        .ok()
        .filter(|_| !has_offset)
        .and_then(from_system_time)
        .ok_or_else(|| "write a time in UTC, such as 2026-11-20 or 2026-11-20T22:16:40Z".to_owned())
}

fn from_system_time(time: SystemTime) -> Option<Timestamp> {
    time.duration_since(UNIX_EPOCH)
        .ok()
        .map(|since_epoch| Timestamp::from_millis(0).plus(since_epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_parsed_from_a_date_a_time_or_an_age() {
        assert_eq!(
            time_or_age("2026-11-20").unwrap().to_string(),
            "2026-11-20T00:00:00.000Z"
        );
        assert_eq!(
            time_or_age("2026-11-20T22:16:40Z").unwrap().to_string(),
            "2026-11-20T22:16:40.000Z"
        );
        assert_eq!(
            time_or_age("2026-11-20T22:16:40.009Z").unwrap().to_string(),
            "2026-11-20T22:16:40.009Z"
        );
        assert!(
            Timestamp::now().duration_since(time_or_age("1h").unwrap()) >= Duration::from_hours(1)
        );
        for wrong in [
            "",
            "yesterday",
            "2026-13-01",
            "1",
            "2026-11-20T22:16:40+01:00",
            "2026-11-20T22:16:40.000+01:00",
            "2026-11-20T22:16:40.123456+99:99",
            "2026-11-20T22:16:40.000-05:00",
        ] {
            assert!(time_or_age(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fixed_time("2026-11-20"), time_or_age("2026-11-20"));
        assert!(fixed_time("1h").is_err());
    }
}
