//! Numbers as DynamoDB stores them: without an exponent, and without leading or trailing zeros ("Number"
//! in the DynamoDB developer guide).

use serde_json::Value;

use super::Refusal;

/// Writes each number in a value as DynamoDB returns it.
pub(super) fn normalize_numbers(value: &mut Value) -> Result<(), Refusal> {
    let Some(object) = value.as_object_mut() else {
        return Ok(());
    };
    for (kind, content) in object.iter_mut() {
        match (kind.as_str(), content) {
            ("N", Value::String(number)) => *number = normalized(number)?,
            ("M", Value::Object(members)) => {
                for member in members.values_mut() {
                    normalize_numbers(member)?;
                }
            }
            ("L", Value::Array(elements)) => {
                for element in elements {
                    normalize_numbers(element)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn normalized(number: &str) -> Result<String, Refusal> {
    let invalid = || Refusal::Invalid(format!("the number {number}"));
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().map_err(|_| invalid())?),
        None => (number, 0_i64),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = [whole, fraction].concat();
    if all_digits.is_empty() || !all_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    // The value is 0.DIGITS times ten to the power of `point`.
    let digits = all_digits.trim_start_matches('0');
    let leading_zeros = all_digits.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Ok("0".to_owned());
    }
    let signed = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let point = signed(whole.len()) - signed(leading_zeros) + exponent;
    if digits.len() > 38 || !(-129..=126).contains(&point) {
        return Err(invalid());
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    let length = signed(digits.len());
    let plain = if point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else if point >= length {
        format!("{digits}{}", zeros(point - length))
    } else {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{whole}.{fraction}")
    };
    Ok(format!("{sign}{plain}"))
}
