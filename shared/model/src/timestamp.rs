//! A timestamp to the millisecond, with one text form: RFC 3339 in UTC with three decimals.
//!
//! The width is fixed, so that texts sort as timestamps do: sort keys rely on it. The clock is read
//! once per request; everything else is handed the time at which the request was received.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, SystemTimeError, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970-01-01T00:00:00Z, up to the end of the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// 9999-12-31T23:59:59.999Z: after it the width would not be fixed.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// The time of the system's clock, to the millisecond.
    pub fn now() -> Self {
        Self::from_system_time(SystemTime::now()).expect("the system's clock is later than 1970")
    }

    /// A timestamp from its milliseconds since 1970; later than the year 9999 becomes the end of
    /// that year.
    pub const fn from_millis(millis: u64) -> Self {
        Self(if millis < LAST { millis } else { LAST })
    }

    fn from_system_time(time: SystemTime) -> Result<Self, SystemTimeError> {
        time.duration_since(UNIX_EPOCH)
            .map(|since_1970| Self(0).plus(since_1970))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970, the unit of DynamoDB's time to live.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Its day in UTC: `2026-11-20`.
    pub fn day(self) -> String {
        let mut text = self.to_string();
        text.truncate("2026-11-20".len());
        text
    }

    /// The timestamp `duration` later, at most the end of the year 9999.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(LAST);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// The timestamp `duration` earlier, at least the beginning of 1970.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(LAST);
        Self::from_millis(self.0.saturating_sub(millis))
    }

    /// The time from `earlier` to this; zero if this is not later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(self.0)).fmt(f)
    }
}

/// A text that is not a timestamp in this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a timestamp is written as 2026-11-20T22:16:40.009Z")]
pub struct InvalidTimestamp;

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Parses what [`Display`](fmt::Display) writes, and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let time = humantime::parse_rfc3339(text).map_err(|_| InvalidTimestamp)?;
        let timestamp = Self::from_system_time(time).map_err(|_| InvalidTimestamp)?;
        if timestamp.to_string() == text {
            Ok(timestamp)
        } else {
            Err(InvalidTimestamp)
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// A timestamp that may be missing, as whole seconds since 1970: the form of DynamoDB's time to
/// live.
pub mod epoch_seconds {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Timestamp;

    /// Writes the seconds.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Timestamp::seconds).serialize(serializer)
    }

    /// Reads the seconds.
    ///
    /// # Errors
    /// When it is null, or not a whole number.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let seconds = u64::deserialize(deserializer)?;
        Ok(Some(Timestamp::from_millis(seconds.saturating_mul(1000))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_has_a_fixed_width_and_is_parsed_back() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_795_213_000_009, "2026-11-20T22:16:40.009Z"),
            (LAST, "9999-12-31T23:59:59.999Z"),
        ] {
            let timestamp = Timestamp::from_millis(millis);
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(text.parse(), Ok(timestamp));
        }
    }

    #[test]
    fn day_ends_at_midnight_in_utc() {
        for (millis, day) in [
            (0, "1970-01-01"),
            (86_399_999, "1970-01-01"),
            (86_400_000, "1970-01-02"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).day(), day);
        }
    }

    #[test]
    fn timestamp_in_another_form_is_rejected() {
        for text in [
            "",
            "2026-11-20",
            "2026-11-20T22:16:40Z",
            "2026-11-20T22:16:40.009+00:00",
            "2026-13-20T22:16:40.009Z",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }
}
