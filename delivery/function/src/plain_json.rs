//! DynamoDB's JSON (`{"N":"1.50"}`) as the JSON that the client sent (`1.50`).
//!
//! A number is copied as text, so that it arrives with all its digits: 38 do not fit into a float.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// JSON while it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainJson {
    text: String,
    /// Whether it has a number that `PutEvents` refuses or may refuse: "For the JSON number
    /// (integer) data type, the constraints are: a minimum value of -9,223,372,036,854,775,808 and a maximum value of
    /// 9,223,372,036,854,775,807" (`PutEvents` in the EventBridge API reference).
    pub(crate) has_large_number: bool,
}

impl PlainJson {
    /// Writes text that is already JSON.
    pub(crate) fn raw(&mut self, json: &str) {
        self.text.push_str(json);
    }

    /// Writes `text` as a JSON string.
    pub(crate) fn string(&mut self, text: &str) {
        self.text.push_str(&serde_json::Value::from(text).to_string());
    }

    /// Writes a field of an object. A comma follows, which [`end`](Self::end) removes after the last one.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.string(name);
        self.raw(":");
        self.string(value);
        self.raw(",");
    }

    /// Writes the end of an object or an array.
    pub(crate) fn end(&mut self, bracket: &str) {
        if self.text.ends_with(',') {
            self.text.pop();
        }
        self.raw(bracket);
    }

    /// Writes the fields of `object`, and a comma after the last one. `None` if it is a value of another type.
    pub(crate) fn fields_of(&mut self, object: &Self) -> Option<()> {
        let fields = object.text.strip_prefix('{')?.strip_suffix('}')?;
        self.raw(fields);
        self.raw(if fields.is_empty() { "" } else { "," });
        self.has_large_number |= object.has_large_number;
        Some(())
    }

    /// Writes the value that `value` has.
    pub(crate) fn value(&mut self, value: &Self) {
        self.raw(&value.text);
        self.has_large_number |= value.has_large_number;
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    fn number<E: Error>(&mut self, text: &str) -> Result<(), E> {
        let is_json = serde_json::from_str(text).is_ok_and(|json: &RawValue| json.get() == text);
        if !is_json || !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Err(E::custom("not a number"));
        }
        // An integer that does not fit is at least 2^63, and so is the nearest float.
        let limit = 2_f64.powi(63);
        self.has_large_number |= text.parse::<i64>().is_err() && !text.parse::<f64>().is_ok_and(|n| n.abs() < limit);
        self.raw(text);
        Ok(())
    }
}

impl<'de> Deserialize<'de> for PlainJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Self::default();
        AttributeValue(&mut json).deserialize(deserializer)?;
        Ok(json)
    }
}

/// The types of JSON that a client sends. Sets and binary values are not among them.
#[derive(Clone, Copy, Deserialize)]
enum Type {
    #[serde(rename = "S")]
    String,
    #[serde(rename = "N")]
    Number,
    #[serde(rename = "BOOL")]
    Bool,
    #[serde(rename = "NULL")]
    Null,
    #[serde(rename = "L")]
    List,
    #[serde(rename = "M")]
    Map,
}

/// Deserializes an attribute value by writing it as JSON.
pub(crate) struct AttributeValue<'j>(pub(crate) &'j mut PlainJson);

impl<'de> DeserializeSeed<'de> for AttributeValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AttributeValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let of = map.next_key()?.ok_or_else(|| A::Error::custom("an attribute value without a type"))?;
        map.next_value_seed(Content { of, json: self.0 })?;
        match map.next_key::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::custom("an attribute value with two types")),
        }
    }
}

/// Writes the content of an attribute value of this type.
struct Content<'j> {
    of: Type,
    json: &'j mut PlainJson,
}

impl<'de> DeserializeSeed<'de> for Content<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.of {
            Type::String | Type::Number => deserializer.deserialize_str(self),
            Type::Bool | Type::Null => deserializer.deserialize_bool(self),
            Type::List => deserializer.deserialize_seq(self),
            Type::Map => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Content<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content of an attribute value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if matches!(self.of, Type::Number) {
            return self.json.number(text);
        }
        self.json.string(text);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        let is_null = matches!(self.of, Type::Null);
        self.json.raw(if is_null {
            "null"
        } else if value {
            "true"
        } else {
            "false"
        });
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.json.raw("[");
        while list.next_element_seed(AttributeValue(self.json))?.is_some() {
            self.json.raw(",");
        }
        self.json.end("]");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.json.raw("{");
        while map.next_key_seed(Content { of: Type::String, json: self.json })?.is_some() {
            self.json.raw(":");
            map.next_value_seed(AttributeValue(self.json))?;
            self.json.raw(",");
        }
        self.json.end("}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(dynamodb_json: &str) -> Result<(String, bool), serde_json::Error> {
        let json: PlainJson = serde_json::from_str(dynamodb_json)?;
        let has_large_number = json.has_large_number;
        Ok((json.into_string(), has_large_number))
    }

    #[test]
    fn attribute_value_becomes_the_json_that_was_sent() {
        let dynamodb_json = r#"{"M":{"s":{"S":"a\"\né😀\u0001"},"n":{"L":[{"N":"1"},{"N":"-2.50"},{"N":"1E-3"}]},
            "t":{"BOOL":true},"f":{"BOOL":false},"z":{"NULL":true},"m":{"M":{}},"l":{"L":[]},"\u0062":{"S":""}}}"#;
        let sent = r#"{"s":"a\"\né😀\u0001","n":[1,-2.50,1E-3],"t":true,"f":false,"z":null,"m":{},"l":[],"b":""}"#;
        assert_eq!(plain(dynamodb_json).unwrap(), (sent.to_owned(), false));
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
            assert_eq!(plain(&format!(r#"{{"N":"{number}"}}"#)).unwrap(), (number.to_owned(), is_large));
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
