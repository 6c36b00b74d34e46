//! Any number: what is written to DynamoDB is the same number, of at most 38 digits and within its range.

use model::json::{JsonText, Token};
use model::number::for_dynamodb;

/// Sign, significant digits, and the exponent of the last of them. `None` where the exponent has too many digits.
fn decimal(text: &str) -> Option<(bool, String, i128)> {
    let (negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (coefficient, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let exponent: i128 = exponent.trim_start_matches('+').parse().ok()?;
    Some((
        negative,
        significant.to_owned(),
        exponent + (digits.len() - significant.len()) as i128 - fraction.len() as i128,
    ))
}

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let Ok(json) = JsonText::parse(text) else { return };
    let Some(Token::Number(number)) = json.value().lexer().next() else { return };
    let written = for_dynamodb(number);
    let Some(sent) = decimal(number) else {
        assert!(written.is_err());
        return;
    };
    let first = sent.2 + sent.1.len() as i128 - 1;
    let fits = sent.1.is_empty() || (sent.1.len() <= 38 && (-130..=125).contains(&first));
    assert_eq!(written.is_ok(), fits);
    if let Ok(written) = written {
        assert_eq!(decimal(&written), Some(sent));
    }
}
