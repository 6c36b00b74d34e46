//! Whether two attribute values are the same to DynamoDB. Must not know where they come from.

use std::borrow::Cow;

use aws_sdk_dynamodb::types::AttributeValue;
use model::number::for_dynamodb;

/// Whether DynamoDB would store both as the same value. It may write a number in another way than it
/// was sent: `1e2` as `100`.
pub fn is_same_value(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::N(a), AttributeValue::N(b)) => is_same_number(a, b),
        (AttributeValue::L(a), AttributeValue::L(b)) => {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|(a, b)| is_same_value(a, b))
        }
        (AttributeValue::M(a), AttributeValue::M(b)) => {
            let is_same = |(name, a)| b.get(name).is_some_and(|b| is_same_value(a, b));
            a.len() == b.len() && a.iter().all(is_same)
        }
        _ => a == b,
    }
}

fn is_same_number(a: &str, b: &str) -> bool {
    match (digits_and_exponent(a), digits_and_exponent(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// A number as its significant digits and an exponent, so in one way only.
fn digits_and_exponent(number: &str) -> Option<String> {
    let number = if number.contains(['e', 'E']) {
        Cow::Borrowed(number)
    } else {
        Cow::Owned(format!("{number}E0"))
    };
    for_dynamodb(&number).ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn number(text: &str) -> AttributeValue {
        AttributeValue::N(text.to_owned())
    }

    #[test]
    fn number_is_the_same_however_it_is_written() {
        let nested = |value: &str| {
            let list = AttributeValue::L(vec![number(value), AttributeValue::Bool(true)]);
            AttributeValue::M(HashMap::from([("list".to_owned(), list)]))
        };
        for (a, b) in [
            ("1e2", "100"),
            ("1.50", "1.5"),
            ("-0", "0"),
            ("1E125", &format!("1{}", "0".repeat(125))),
            ("0.001", "1e-3"),
        ] {
            assert!(is_same_value(&nested(a), &nested(b)), "{a} {b}");
        }
        for (a, b) in [("1", "-1"), ("1", "10"), ("1.5", "15")] {
            assert!(!is_same_value(&nested(a), &nested(b)), "{a} {b}");
        }
        let text = AttributeValue::S("1".to_owned());
        assert!(!is_same_value(&number("1"), &text));
        let empty = AttributeValue::L(Vec::new());
        assert!(!is_same_value(&AttributeValue::L(vec![text]), &empty));
    }
}
