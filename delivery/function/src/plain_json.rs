//! DynamoDB's JSON (`{"N":"1.50"}`) as the JSON that the client sent (`1.50`).
//!
//! A number is copied as text, so that it arrives with all its digits: 38 do not fit into a float.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use serde_json::value::RawValue;

/// The attributes of an item or of a map.
pub(crate) type ItemAttributes<'a> = BTreeMap<Cow<'a, str>, AttributeValue<'a>>;

/// An attribute value of a type that JSON has. Sets and binary values are not among them.
#[derive(Debug, Deserialize)]
pub(crate) enum AttributeValue<'a> {
    S(#[serde(borrow)] Cow<'a, str>),
    N(#[serde(borrow)] Number<'a>),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(IgnoredAny),
    L(#[serde(borrow)] Vec<AttributeValue<'a>>),
    M(#[serde(borrow)] ItemAttributes<'a>),
}

/// The text of a number of JSON.
#[derive(Debug)]
pub(crate) struct Number<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Number<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'a, str>::deserialize(deserializer)?;
        let as_json: Result<&RawValue, _> = serde_json::from_str(&text);
        let is_json = as_json.is_ok_and(|json| json.get() == text);
        let begins_as_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if !is_json || !begins_as_number {
            return Err(D::Error::custom("not a number"));
        }
        Ok(Self(text))
    }
}

impl Number<'_> {
    /// Whether it is an integer beyond 64 bits. Such an integer is at least 2^63, and the nearest
    /// float is, too.
    fn is_large(&self) -> bool {
        let fits_integer = self.0.parse::<i64>().is_ok();
        let nearest_float = self.0.parse::<f64>();
        let is_below_limit = nearest_float.is_ok_and(|number| number.abs() < 2_f64.powi(63));
        !fits_integer && !is_below_limit
    }
}

/// A JSON text while it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainJson {
    text: String,
    /// Whether it has a number that `PutEvents` refuses or may refuse: "For the JSON number
    /// (integer) data type, the constraints are: a minimum value of -9,223,372,036,854,775,808 and
    /// a maximum value of 9,223,372,036,854,775,807" (`PutEvents` in the EventBridge API
    /// reference).
    pub(crate) has_large_number: bool,
}

impl PlainJson {
    /// Writes text as it is: a bracket, a comma, or a value that is JSON already.
    pub(crate) fn push_text(&mut self, json: &str) {
        self.text.push_str(json);
    }

    /// Writes `text` as a JSON string.
    pub(crate) fn push_string(&mut self, text: &str) {
        let quoted = serde_json::Value::from(text).to_string();
        self.text.push_str(&quoted);
    }

    /// Writes a field whose value is a string. A comma follows, which [`close`](Self::close) removes
    /// after the last field.
    pub(crate) fn push_string_field(&mut self, name: &str, value: &str) {
        self.push_string(name);
        self.push_text(":");
        self.push_string(value);
        self.push_text(",");
    }

    /// Writes the bracket that ends an object or an array.
    pub(crate) fn close(&mut self, bracket: &str) {
        if self.text.ends_with(',') {
            self.text.pop();
        }
        self.push_text(bracket);
    }

    /// Writes these fields of an object, with a comma after each.
    pub(crate) fn push_fields(&mut self, fields: &ItemAttributes<'_>) {
        for (name, value) in fields {
            self.push_string(name);
            self.push_text(":");
            self.push_value(value);
            self.push_text(",");
        }
    }

    /// Writes a value as the client sent it.
    pub(crate) fn push_value(&mut self, value: &AttributeValue<'_>) {
        match value {
            AttributeValue::S(text) => self.push_string(text),
            AttributeValue::N(number) => {
                self.has_large_number |= number.is_large();
                self.push_text(&number.0);
            }
            AttributeValue::Bool(true) => self.push_text("true"),
            AttributeValue::Bool(false) => self.push_text("false"),
            AttributeValue::Null(_) => self.push_text("null"),
            AttributeValue::L(values) => {
                self.push_text("[");
                for value in values {
                    self.push_value(value);
                    self.push_text(",");
                }
                self.close("]");
            }
            AttributeValue::M(fields) => {
                self.push_text("{");
                self.push_fields(fields);
                self.close("}");
            }
        }
    }

    /// Writes the whole of `json`.
    pub(crate) fn append(&mut self, json: &Self) {
        self.push_text(&json.text);
        self.has_large_number |= json.has_large_number;
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(dynamodb_json: &str) -> Result<(String, bool), serde_json::Error> {
        let mut json = PlainJson::default();
        json.push_value(&serde_json::from_str(dynamodb_json)?);
        let has_large_number = json.has_large_number;
        Ok((json.into_string(), has_large_number))
    }

    #[test]
    fn number_keeps_38_digits_and_only_one_beyond_64_bits_is_large() {
        for (number, is_large) in [
            ("0", false),
            ("9223372036854775807", false),
            ("-9223372036854775808", false),
            ("9223372036854775808", true),
            ("-9223372036854775809", true),
            ("12345678901234567890123456789012345678", true),
            ("0.12345678901234567890123456789012345678", false),
            ("1E+18", false),
            ("1E+19", true),
            ("1E-130", false),
            ("9.9999999999999999999999999999999999999E+125", true),
        ] {
            assert_eq!(
                plain(&format!(r#"{{"N":"{number}"}}"#)).unwrap(),
                (number.to_owned(), is_large)
            );
        }
    }

    #[test]
    fn value_that_no_client_can_have_sent_is_an_error() {
        for dynamodb_json in [
            "{}",
            "1",
            r#"{"S":1}"#,
            r#"{"B":"YQ=="}"#,
            r#"{"SS":["a"]}"#,
            r#"{"S":"a","N":"1"}"#,
            r#"{"N":"NaN"}"#,
            r#"{"N":"1,\"x\":2"}"#,
            r#"{"N":" 1"}"#,
            r#"{"N":"\"1\""}"#,
            r#"{"N":".5"}"#,
            r#"{"M":{"a":"b"}}"#,
        ] {
            assert!(plain(dynamodb_json).is_err(), "{dynamodb_json}");
        }
    }
}
