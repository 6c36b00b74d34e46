//! Items as JSON, and as texts for people. Must not know which attributes there are.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::attributes::Item;

/// An attribute as JSON. A number stays the text that DynamoDB sent: 38 digits do not fit into a
/// float.
pub struct Json<'a>(pub &'a AttributeValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => text.serialize(serializer),
            AttributeValue::N(number) => serialize_number(number, serializer),
            AttributeValue::Bool(value) => value.serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Json)),
            AttributeValue::M(map) => json_object(map, &[]).serialize(serializer),
            // This service never writes sets and bytes.
            _ => serializer.serialize_unit(),
        }
    }
}

fn serialize_number<S: Serializer>(number: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match RawValue::from_string(number.to_owned()) {
        Ok(json) => json.serialize(serializer),
        Err(_) => number.serialize(serializer),
    }
}

/// The attributes of an item as a JSON object, sorted by name, without those that are `left_out`.
pub fn json_object<'a>(item: &'a Item, left_out: &[&str]) -> BTreeMap<&'a str, Json<'a>> {
    item.iter()
        .filter(|(name, _)| !left_out.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), Json(value)))
        .collect()
}

/// A value for people: a string as it is, anything else as JSON.
pub fn display(value: &AttributeValue) -> String {
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
            (
                "a".to_owned(),
                AttributeValue::L(vec![
                    AttributeValue::Null(true),
                    AttributeValue::Bool(false),
                ]),
            ),
            ("pk".to_owned(), AttributeValue::S("x".to_owned())),
        ]);
        let json = serde_json::to_string(&json_object(&item, &["pk"])).unwrap();
        assert_eq!(json, format!(r#"{{"a":[null,false],"n":{digits}}}"#));
    }
}
