//! One `AWS::DynamoDB::Table` as the request that creates it. Knows which of its properties are
//! applied locally.

use serde_json::{Map, Value};

/// The properties that decide what an expression finds: `CreateTable` takes them as the template
/// writes them. Others are about capacity, money, backups, encryption and permissions, which one
/// process on one machine has not. Nor has it readers of a stream, and the emulator counts a
/// stream's records anew at each write: every write would cost more than the one before it.
const APPLIED: [&str; 4] = [
    "AttributeDefinitions",
    "KeySchema",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
];

/// A table of the template.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of the resource in the template, such as `SignalsTable`.
    pub logical_id: String,
    /// The table's name in the emulator: its `TableName`, or the logical id where AWS would choose
    /// a name.
    pub name: String,
    /// The attribute by which items expire, when the template enables that.
    pub time_to_live_attribute: Option<String>,
    /// What a record of its stream has, in the words of `CreateTable`, when the template enables
    /// one. `definition` has no stream.
    pub stream_view_type: Option<String>,
    /// The `CreateTable` request that makes it.
    pub definition: Map<String, Value>,
}

impl Table {
    pub(super) fn read(logical_id: &str, properties: &Value) -> Self {
        let mut definition = Map::new();
        for property in APPLIED {
            if let Some(value) = properties.get(property) {
                definition.insert(property.to_owned(), value.clone());
            }
        }
        let name = properties
            .get("TableName")
            .and_then(Value::as_str)
            .unwrap_or(logical_id);
        definition.insert("TableName".to_owned(), Value::from(name));
        definition.insert("BillingMode".to_owned(), Value::from("PAY_PER_REQUEST"));
        Self {
            logical_id: logical_id.to_owned(),
            name: name.to_owned(),
            time_to_live_attribute: properties
                .get("TimeToLiveSpecification")
                .and_then(time_to_live_attribute),
            stream_view_type: properties
                .pointer("/StreamSpecification/StreamViewType")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned),
            definition,
        }
    }
}

fn time_to_live_attribute(specification: &Value) -> Option<String> {
    let enabled = match specification.get("Enabled")? {
        Value::String(text) => text == "true",
        value => value.as_bool()?,
    };
    let attribute = specification.get("AttributeName")?.as_str()?;
    enabled.then(|| attribute.to_owned())
}
