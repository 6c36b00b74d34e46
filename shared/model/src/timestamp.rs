//! A moment, to the millisecond, in the one way that it is written everywhere: RFC 3339 in UTC with three decimals.
//!
//! The width is fixed, so that texts sort as moments do: sort keys rely on it. It does not know what time it is unless
//! asked once, at the door; everything else is handed the moment that the request arrived.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::{Date, Month, OffsetDateTime};

/// Milliseconds since 1970-01-01T00:00:00Z, from there to the end of the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// 9999-12-31T23:59:59.999Z: beyond it the width would not be fixed.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// The system's clock, now.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(LAST).min(LAST))
    }

    /// A moment by its milliseconds since 1970; later than the year 9999 is taken as its end.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(if millis < LAST { millis } else { LAST })
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970, as DynamoDB's time to live wants it.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// The moment `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(LAST);
        Self(self.0.saturating_add(millis).min(LAST))
    }

    /// How long after `earlier` it is; zero if it is not later.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.seconds()).unwrap_or_default();
        let timestamp = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = timestamp.to_calendar_date();
        let (hour, minute, second) = timestamp.to_hms();
        write!(f, "{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", u8::from(month), self.0 % 1000)
    }
}

/// A text that is no moment as this service writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTimestamp;

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads what [`Display`](fmt::Display) wrote, and nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let number = |from: usize, to: usize| -> Result<u16, InvalidTimestamp> {
            text.get(from..to).and_then(|digits| digits.parse().ok()).ok_or(InvalidTimestamp)
        };
        let small = |from, to| number(from, to).and_then(|n| u8::try_from(n).map_err(|_| InvalidTimestamp));
        let month = Month::try_from(small(5, 7)?).map_err(|_| InvalidTimestamp)?;
        let date =
            Date::from_calendar_date(number(0, 4)?.into(), month, small(8, 10)?).map_err(|_| InvalidTimestamp)?;
        let timestamp = date
            .with_hms_milli(small(11, 13)?, small(14, 16)?, small(17, 19)?, number(20, 23)?)
            .map_err(|_| InvalidTimestamp)?
            .assume_utc();
        let millis = u64::try_from(timestamp.unix_timestamp_nanos() / 1_000_000).map_err(|_| InvalidTimestamp)?;
        let timestamp = Self::from_millis(millis);
        if timestamp.to_string() == text { Ok(timestamp) } else { Err(InvalidTimestamp) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_a_fixed_width_and_read_back() {
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
    fn another_way_of_writing_is_refused() {
        for text in
            ["", "2026-11-20", "2026-11-20T22:16:40Z", "2026-11-20T22:16:40.009+00:00", "2026-13-20T22:16:40.009Z"]
        {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
    }
}
