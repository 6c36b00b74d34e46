//! Items as they are read: single attributes, and whole ones as JSON.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An item, as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The string attribute `name` of `item`.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The key of an item: its attributes `names`.
pub(crate) fn key(item: &Item, names: &[&str]) -> Item {
    names.iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone()))).collect()
}

/// An attribute as JSON. A number stays the text that DynamoDB gave: 38 digits are no float.
pub(crate) struct Json<'a>(pub(crate) &'a AttributeValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => text.serialize(serializer),
            AttributeValue::N(number) => match RawValue::from_string(number.clone()) {
                Ok(number) => number.serialize(serializer),
                Err(_) => number.serialize(serializer),
            },
            AttributeValue::Bool(truth) => truth.serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Json)),
            AttributeValue::M(map) => Members::of(map, &[]).serialize(serializer),
            // Sets and bytes are never written by this service.
            _ => serializer.serialize_unit(),
        }
    }
}

/// The attributes of an item as a JSON object, by name.
pub(crate) struct Members<'a>(BTreeMap<&'a str, Json<'a>>);

impl<'a> Members<'a> {
    /// All but those called `without`.
    pub(crate) fn of(item: &'a Item, without: &[&str]) -> Self {
        let kept = item.iter().filter(|(name, _)| !without.contains(&name.as_str()));
        Self(kept.map(|(name, value)| (name.as_str(), Json(value))).collect())
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A value for a person: a text as it is, anything else as JSON.
pub(crate) fn display(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        other => serde_json::to_string(&Json(other)).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_38_digits_is_written_as_it_is() {
        let digits = "12345678901234567890123456789012345678";
        let item = Item::from([
            ("n".to_owned(), AttributeValue::N(digits.to_owned())),
            ("a".to_owned(), AttributeValue::L(vec![AttributeValue::Null(true), AttributeValue::Bool(false)])),
            ("pk".to_owned(), AttributeValue::S("x".to_owned())),
        ]);
        let json = serde_json::to_string(&Members::of(&item, &["pk"])).unwrap();
        assert_eq!(json, format!(r#"{{"a":[null,false],"n":{digits}}}"#));
    }
}
