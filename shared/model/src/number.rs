//! Which JSON numbers DynamoDB holds exactly, and how they are written to it.
//!
//! Source: "Number" under "Supported data types" in the DynamoDB developer guide: 38 significant
//! digits, magnitudes from 1E-130 to 9.99...E+125, and zero. No number is converted to a float.

use std::borrow::Cow;

use crate::limits::MAX_NUMBER_DIGITS;

/// The exponent of the first digit of the smallest and of the largest magnitude.
const EXPONENTS: std::ops::RangeInclusive<i64> = -130..=125;

/// Why a number cannot be stored exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The number has more than 38 significant digits.
    TooManyDigits,
    /// Its magnitude is beyond what DynamoDB holds.
    OutOfRange,
}

/// How `text`, a JSON number, is written to DynamoDB: as it was sent if it is short and has no
/// exponent, otherwise as its significant digits and an exponent.
///
/// DynamoDB reads an exponent as 64 bits and checks the range of the exponent even for zero, so a
/// number with an exponent, or one padded with zeros, is never written as it was sent.
///
/// # Errors
/// [`NumberError`] when DynamoDB would round or reject it.
pub fn for_dynamodb(text: &str) -> Result<Cow<'_, str>, NumberError> {
    Ok(match Decimal::parse(text)? {
        Decimal::Plain => Cow::Borrowed(text),
        Decimal::Zero => Cow::Borrowed("0"),
        Decimal::Digits {
            sign,
            whole,
            fraction,
            last: 0,
        } => Cow::Owned([sign, whole, fraction].concat()),
        Decimal::Digits {
            sign,
            whole,
            fraction,
            last,
        } => Cow::Owned(format!("{sign}{whole}{fraction}E{last}")),
    })
}

/// Whether DynamoDB holds `text`, a JSON number, exactly.
///
/// # Errors
/// As [`for_dynamodb`]. This function allocates nothing, because a body can have a million numbers.
pub(crate) fn check(text: &str) -> Result<(), NumberError> {
    Decimal::parse(text).map(drop)
}

/// A number that DynamoDB holds exactly.
enum Decimal<'a> {
    /// Short enough, and without an exponent.
    Plain,
    Zero,
    /// The significant digits before and after the point.
    Digits {
        sign: &'a str,
        whole: &'a str,
        fraction: &'a str,
        /// The exponent of the last of them.
        last: i64,
    },
}

impl<'a> Decimal<'a> {
    fn parse(text: &'a str) -> Result<Self, NumberError> {
        if text.len() <= MAX_NUMBER_DIGITS && !text.bytes().any(|byte| matches!(byte, b'e' | b'E'))
        {
            return Ok(Self::Plain);
        }
        let (sign, magnitude) = text
            .strip_prefix('-')
            .map_or(("", text), |rest| ("-", rest));
        let (coefficient, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
        let last_sent = parse_exponent(exponent).saturating_sub(signed(fraction.len()));
        let whole = whole.trim_start_matches('0');
        let fraction = if whole.is_empty() {
            fraction.trim_start_matches('0')
        } else {
            fraction
        };
        let sent = whole.len() + fraction.len();
        let fraction = fraction.trim_end_matches('0');
        let whole = if fraction.is_empty() {
            whole.trim_end_matches('0')
        } else {
            whole
        };
        let digits = whole.len() + fraction.len();
        if digits == 0 {
            return Ok(Self::Zero);
        }
        let last = last_sent.saturating_add(signed(sent - digits));
        let first = last.saturating_add(signed(digits)).saturating_sub(1);
        if !EXPONENTS.contains(&first) {
            return Err(NumberError::OutOfRange);
        }
        if digits > MAX_NUMBER_DIGITS {
            return Err(NumberError::TooManyDigits);
        }
        Ok(Self::Digits {
            sign,
            whole,
            fraction,
            last,
        })
    }
}

/// An exponent too long for 64 bits is as far out of range as the longest that fits.
fn parse_exponent(text: &str) -> i64 {
    text.parse().unwrap_or(if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    })
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).expect("no text in memory is longer")
}
