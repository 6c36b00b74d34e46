//! DynamoDB items: single attributes, and whole items as JSON.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// An item, as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The string attribute `name` of `item`.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The key of an item in a table that has no sort key.
pub(crate) fn partition_key(partition: String) -> Item {
    Item::from([("pk".to_owned(), AttributeValue::S(partition))])
}

/// The key of an item: its attributes `names`.
pub(crate) fn key(item: &Item, names: &[&str]) -> Item {
    names.iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone()))).collect()
}

/// An attribute as JSON. A number stays the text that DynamoDB sent: 38 digits do not fit into a float.
pub(crate) struct Json<'a>(pub(crate) &'a AttributeValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => text.serialize(serializer),
            AttributeValue::N(number) => match RawValue::from_string(number.clone()) {
                Ok(number) => number.serialize(serializer),
                Err(_) => number.serialize(serializer),
            },
            AttributeValue::Bool(value) => value.serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Json)),
            AttributeValue::M(map) => json_object(map, &[]).serialize(serializer),
            // This service never writes sets and bytes.
            _ => serializer.serialize_unit(),
        }
    }
}

/// The attributes of an item as a JSON object, sorted by name, all but those called `without`.
pub(crate) fn json_object<'a>(item: &'a Item, without: &[&str]) -> BTreeMap<&'a str, Json<'a>> {
    let attributes = item.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    attributes.map(|(name, value)| (name.as_str(), Json(value))).collect()
}

/// An item as DynamoDB's JSON.
pub(crate) fn dynamodb_json(item: &Item) -> Value {
    item.iter().map(|(name, value)| (name.clone(), value_json(value))).collect()
}

fn value_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(value) => json!({"BOOL": value}),
        AttributeValue::L(list) => json!({"L": list.iter().map(value_json).collect::<Vec<_>>()}),
        AttributeValue::M(map) => json!({"M": dynamodb_json(map)}),
        // This service never writes sets and bytes.
        _ => json!({"NULL": true}),
    }
}

/// A value for people: a string as it is, anything else as JSON.
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
    fn number_of_38_digits_is_written_exactly() {
        let digits = "12345678901234567890123456789012345678";
        let item = Item::from([
            ("n".to_owned(), AttributeValue::N(digits.to_owned())),
            ("a".to_owned(), AttributeValue::L(vec![AttributeValue::Null(true), AttributeValue::Bool(false)])),
            ("pk".to_owned(), AttributeValue::S("x".to_owned())),
        ]);
        let json = serde_json::to_string(&json_object(&item, &["pk"])).unwrap();
        assert_eq!(json, format!(r#"{{"a":[null,false],"n":{digits}}}"#));
    }
}
