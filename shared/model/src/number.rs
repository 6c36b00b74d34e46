//! Which JSON numbers DynamoDB holds exactly, and how they are written to it.
//!
//! Source: "Number" under "Supported data types" in the DynamoDB developer guide: 38 significant digits, magnitudes
//! from 1E-130 to 9.99...E+125, and zero. Nothing here goes by way of a float.

use std::borrow::Cow;

use crate::limits::NUMBER_DIGITS;

/// The exponent of the first digit of the smallest and of the largest magnitude.
const EXPONENTS: std::ops::RangeInclusive<i64> = -130..=125;

/// Why a number cannot be stored exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// It has more than 38 significant digits.
    TooManyDigits,
    /// Its magnitude is beyond what DynamoDB holds.
    OutOfRange,
}

/// How `text`, a JSON number, is written to DynamoDB: as it was sent where that is short and plain, otherwise as its
/// significant digits and an exponent.
///
/// DynamoDB reads an exponent as 64 bits and holds even a zero to the range of its exponent, so a number with an
/// exponent, or one padded with zeros, is never passed on as sent.
///
/// # Errors
/// [`NumberFault`] where DynamoDB would have to round or refuse it.
pub fn for_dynamodb(text: &str) -> Result<Cow<'_, str>, NumberFault> {
    let plain = text.len() <= NUMBER_DIGITS && !text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    if plain {
        return Ok(Cow::Borrowed(text));
    }
    let (sign, magnitude) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (coefficient, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
    let all_digits = [whole, fraction].concat();
    let without_leading = all_digits.trim_start_matches('0');
    let digits = without_leading.trim_end_matches('0');
    if digits.is_empty() {
        return Ok(Cow::Borrowed("0"));
    }
    // The exponent of the last significant digit, and from it that of the first.
    let last = parse_exponent(exponent)
        .saturating_sub(signed(fraction.len()))
        .saturating_add(signed(without_leading.len().saturating_sub(digits.len())));
    let first = last.saturating_add(signed(digits.len())).saturating_sub(1);
    if !EXPONENTS.contains(&first) {
        return Err(NumberFault::OutOfRange);
    }
    if digits.len() > NUMBER_DIGITS {
        return Err(NumberFault::TooManyDigits);
    }
    Ok(Cow::Owned(if last == 0 { format!("{sign}{digits}") } else { format!("{sign}{digits}E{last}") }))
}

/// An exponent too long for 64 bits is as far out of range as the longest that fits.
fn parse_exponent(text: &str) -> i64 {
    text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX })
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_eight_digits_pass_and_thirty_nine_do_not() {
        assert_eq!(
            for_dynamodb("12345678901234567890123456789012345678").unwrap(),
            "12345678901234567890123456789012345678"
        );
        assert_eq!(for_dynamodb("123456789012345678901234567890123456789"), Err(NumberFault::TooManyDigits));
        assert_eq!(for_dynamodb("0.123456789012345678901234567890123456789"), Err(NumberFault::TooManyDigits));
    }

    #[test]
    fn zeros_around_the_digits_do_not_count() {
        let padded = format!("1{}", "0".repeat(125));
        assert_eq!(for_dynamodb(&padded).unwrap(), "1E125");
        assert_eq!(for_dynamodb(&format!("1.{}", "0".repeat(400))).unwrap(), "1");
        assert_eq!(for_dynamodb(&format!("-0.{}123", "0".repeat(60))).unwrap(), "-123E-63");
    }

    #[test]
    fn the_range_ends_where_dynamodb_says() {
        for inside in ["1e-130", "9.9999999999999999999999999999999999999E+125", "-1E125", "0.1e-129", "10e124"] {
            assert!(for_dynamodb(inside).is_ok(), "{inside}");
        }
        for outside in
            ["1e126", "9e-131", "-1E+126", "0.1e-130", "10e125", "1e99999999999999999999", "1e-99999999999999999999"]
        {
            assert_eq!(for_dynamodb(outside), Err(NumberFault::OutOfRange), "{outside}");
        }
    }

    #[test]
    fn zero_is_zero_whatever_its_exponent() {
        for zero in ["0e126", "0.0e-130", "-0E99999999999999999999"] {
            assert_eq!(for_dynamodb(zero).unwrap(), "0", "{zero}");
        }
        assert_eq!(for_dynamodb("-0").unwrap(), "-0");
    }

    #[test]
    fn short_plain_numbers_are_passed_on_as_sent() {
        for plain in ["0", "-12.50", "3.14", "1000000"] {
            assert_eq!(for_dynamodb(plain).unwrap(), plain);
        }
    }
}
