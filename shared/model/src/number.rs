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

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS_38: &str = "12345678901234567890123456789012345678";
    const DIGITS_39: &str = "123456789012345678901234567890123456789";

    #[test]
    fn number_that_dynamodb_holds_exactly_is_written_with_the_same_value() {
        let padded = format!("{DIGITS_38}000");
        let padded_written = format!("{DIGITS_38}E3");
        let longest_fraction = format!("0.{DIGITS_38}");
        let longest_fraction_written = format!("{DIGITS_38}E-38");
        for (sent, written) in [
            ("0", "0"),
            ("-12.50", "-12.50"),
            (DIGITS_38, DIGITS_38),
            (&padded, &padded_written),
            (&longest_fraction, &longest_fraction_written),
            ("1E-130", "1E-130"),
            ("9.99E125", "999E123"),
            ("-9.99e+125", "-999E123"),
            ("0.001E-127", "1E-130"),
            ("1000E122", "1E125"),
            ("1.50E1", "15"),
            ("0E999", "0"),
            ("-0.000E-999", "0"),
            ("0E99999999999999999999", "0"),
        ] {
            assert_eq!(for_dynamodb(sent).as_deref(), Ok(written), "{sent}");
            assert_eq!(check(sent), Ok(()), "{sent}");
        }
    }

    #[test]
    fn number_that_dynamodb_would_round_or_reject_is_an_error() {
        let long_fraction = format!("0.{DIGITS_39}");
        for (sent, error) in [
            (DIGITS_39, NumberError::TooManyDigits),
            (&long_fraction, NumberError::TooManyDigits),
            ("9E-131", NumberError::OutOfRange),
            ("0.9E-130", NumberError::OutOfRange),
            ("1E126", NumberError::OutOfRange),
            ("10E125", NumberError::OutOfRange),
            ("-1E126", NumberError::OutOfRange),
            ("1E99999999999999999999", NumberError::OutOfRange),
            ("1E-99999999999999999999", NumberError::OutOfRange),
        ] {
            assert_eq!(for_dynamodb(sent), Err(error), "{sent}");
            assert_eq!(check(sent), Err(error), "{sent}");
        }
    }
}
