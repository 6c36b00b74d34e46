//! Compares a stored value with the sent one, digit for digit and character for character. It reads
//! JSON by `serde_json` and keeps numbers as text.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::value::RawValue;

/// A JSON value with decimal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Vec<Exact>),
    Object(BTreeMap<String, Exact>),
}

/// A number: its sign, its significant digits, and the exponent of the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    pub(crate) fn of(text: &str) -> Self {
        let (negative, magnitude) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (coefficient, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = coefficient.split_once('.').unwrap_or((coefficient, ""));
        let digits = format!("{whole}{fraction}")
            .trim_start_matches('0')
            .to_owned();
        let significant = digits.trim_end_matches('0').to_owned();
        if significant.is_empty() {
            return Self {
                negative: false,
                digits: significant,
                exponent: 0,
            };
        }
        let zeros = i128::try_from(digits.len() - significant.len()).unwrap();
        let exponent: i128 = exponent.trim_start_matches('+').parse().unwrap();
        let exponent = exponent - i128::try_from(fraction.len()).unwrap() + zeros;
        Self {
            negative,
            digits: significant,
            exponent,
        }
    }

    /// Whether DynamoDB holds it: 38 digits, a magnitude from 1E-130 to below 1E126.
    pub(crate) fn fits_dynamodb(&self) -> bool {
        let first = self.exponent + i128::try_from(self.digits.len()).unwrap() - 1;
        self.digits.is_empty() || (self.digits.len() <= 38 && (-130..=125).contains(&first))
    }
}

impl Exact {
    /// The value of a JSON text.
    pub(crate) fn from_text(text: &str) -> Self {
        let of = |raw: &RawValue| Self::from_text(raw.get());
        let text = text.trim();
        match text.as_bytes()[0] {
            b'n' => Self::Null,
            b't' | b'f' => Self::Bool(text == "true"),
            b'"' => Self::String(serde_json::from_str(text).unwrap()),
            b'[' => Self::Array(
                serde_json::from_str::<Vec<_>>(text)
                    .unwrap()
                    .into_iter()
                    .map(of)
                    .collect(),
            ),
            b'{' => {
                let members: BTreeMap<String, _> = serde_json::from_str(text).unwrap();
                Self::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name, of(value)))
                        .collect(),
                )
            }
            _ => Self::Number(Decimal::of(text)),
        }
    }

    /// The value of an attribute.
    pub(crate) fn of_attribute(value: &AttributeValue) -> Self {
        match value {
            AttributeValue::Null(_) => Self::Null,
            AttributeValue::Bool(truth) => Self::Bool(*truth),
            AttributeValue::N(text) => Self::Number(Decimal::of(text)),
            AttributeValue::S(text) => Self::String(text.clone()),
            AttributeValue::L(list) => Self::Array(list.iter().map(Self::of_attribute).collect()),
            AttributeValue::M(map) => Self::Object(
                map.iter()
                    .map(|(name, value)| (name.clone(), Self::of_attribute(value)))
                    .collect(),
            ),
            other => panic!("JSON has no {other:?}"),
        }
    }

    /// The members of an object.
    pub(crate) fn into_members(self) -> BTreeMap<String, Self> {
        match self {
            Self::Object(members) => members,
            other => panic!("{other:?} is no object"),
        }
    }
}
