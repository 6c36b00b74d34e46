//! The attributes of an item as JSON, with every digit of their numbers. Must not know which
//! attributes an item has.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The members of a JSON object, with every digit of their numbers.
pub(super) type JsonMembers = BTreeMap<String, Box<RawValue>>;

/// A text attribute of an item. An item without it has the empty text.
pub(super) fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item.pointer(&format!("/{name}/S"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The attributes of an item that are `wanted`.
pub(super) fn attributes(item: &Value, wanted: impl Fn(&str) -> bool) -> Result<JsonMembers> {
    let attributes = item
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| wanted(name));
    attributes
        .map(|(name, value)| Ok((name.clone(), to_raw_value(&AttributeJson(value))?)))
        .collect()
}

/// An attribute in DynamoDB's JSON, written as JSON. A number stays the text that is stored: 38
/// digits do not fit into a float.
struct AttributeJson<'a>(&'a Value);

impl Serialize for AttributeJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The object has one member, whose name is the type.
        let typed = self.0.as_object().and_then(|typed| typed.iter().next());
        match typed.map(|(kind, value)| (kind.as_str(), value)) {
            Some(("N", Value::String(number))) => match RawValue::from_string(number.clone()) {
                Ok(number) => number.serialize(serializer),
                Err(_) => number.serialize(serializer),
            },
            Some(("L", Value::Array(list))) => {
                serializer.collect_seq(list.iter().map(AttributeJson))
            }
            Some(("M", Value::Object(members))) => serializer.collect_map(
                members
                    .iter()
                    .map(|(name, value)| (name, AttributeJson(value))),
            ),
            Some(("S" | "BOOL", value)) => value.serialize(serializer),
            // This service never writes sets and bytes.
            _ => serializer.serialize_unit(),
        }
    }
}
