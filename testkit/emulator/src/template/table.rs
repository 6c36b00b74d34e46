//! One `AWS::DynamoDB::Table` as the request that creates it. Knows for each property whether it is applied locally.

use anyhow::{Result, anyhow};
use serde_json::{Map, Value};

use crate::yaml::function_in;

/// Properties that `CreateTable` takes as the template writes them.
const APPLIED_AS_WRITTEN: [&str; 2] = ["AttributeDefinitions", "KeySchema"];

/// Properties that are applied, each in its own way.
const APPLIED: [&str; 2] = ["TableName", "TimeToLiveSpecification"];

/// Properties about money, capacity, backups, encryption, permissions and monitoring: one process on one machine has
/// none of them. They are not evaluated either. Nor has it readers of a stream, and the emulator counts a stream's
/// records anew at each write: every write would cost more than the one before it.
const WITHOUT_MEANING_LOCALLY: [&str; 12] = [
    "BillingMode",
    "ContributorInsightsSpecification",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "PointInTimeRecoverySpecification",
    "ProvisionedThroughput",
    "ResourcePolicy",
    "SSESpecification",
    "StreamSpecification",
    "TableClass",
    "Tags",
    "WarmThroughput",
];

/// A table of the template.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of the resource in the template, such as `SignalsTable`.
    pub logical_id: String,
    /// The table's name in the emulator: its `TableName`, or the logical id where AWS would choose a name.
    pub name: String,
    /// The attribute by which items expire, when the template enables that.
    pub time_to_live_attribute: Option<String>,
    /// The `CreateTable` request that makes it.
    pub definition: Map<String, Value>,
}

impl Table {
    pub(super) fn read(logical_id: &str, properties: &Value) -> Result<Self> {
        let wrong = |what: String| anyhow!("the table {logical_id} {what}");
        let properties = properties.as_object().ok_or_else(|| wrong("has no properties.".to_owned()))?;
        let mut definition = Map::new();
        for (property, value) in properties {
            let property = property.as_str();
            if WITHOUT_MEANING_LOCALLY.contains(&property) {
                continue;
            }
            if !APPLIED.contains(&property) && !APPLIED_AS_WRITTEN.contains(&property) {
                return Err(wrong(format!(
                    "has the property {property}, which the local stack can neither apply nor safely leave out."
                )));
            }
            if let Some(function) = function_in(value) {
                return Err(wrong(format!("uses {function} in {property}: the local stack needs it written out.")));
            }
            if APPLIED_AS_WRITTEN.contains(&property) {
                definition.insert(property.to_owned(), value.clone());
            }
        }
        let name = properties.get("TableName").and_then(Value::as_str).unwrap_or(logical_id);
        definition.insert("TableName".to_owned(), Value::from(name));
        definition.insert("BillingMode".to_owned(), Value::from("PAY_PER_REQUEST"));
        Ok(Self {
            logical_id: logical_id.to_owned(),
            name: name.to_owned(),
            time_to_live_attribute: properties.get("TimeToLiveSpecification").and_then(time_to_live_attribute),
            definition,
        })
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
