//! A template's tables in an emulator's database: created, or found as an earlier run left them in
//! its file.

use anyhow::{Context as _, Result, ensure};
use dynoxide::Database;
use dynoxide::errors::DynoxideError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::template::Table;

/// What a table found in a data file must have in common with its declaration.
const FIXED_WHEN_CREATED: [&str; 2] = ["AttributeDefinitions", "KeySchema"];

/// A request of the emulator from DynamoDB's own JSON.
pub(super) fn request<T: DeserializeOwned>(json: Value) -> Result<T> {
    Ok(serde_json::from_value(json)?)
}

/// Makes sure that `table` is there. Running it again changes nothing.
pub(super) fn ensure(database: &Database, table: &Table) -> Result<()> {
    let failed = || format!("Cannot create the table {}", table.name);
    create(database, table).with_context(failed)?;
    ensure!(
        is_as_declared(database, table).with_context(failed)?,
        "The data file's table {} is not as the template declares it: delete the file, or name another.",
        table.name,
    );
    ensure_expiry(database, table).with_context(failed)
}

fn create(database: &Database, table: &Table) -> Result<()> {
    let definition = request(Value::from(table.definition.clone()))?;
    match database.create_table(definition) {
        Ok(_) | Err(DynoxideError::ResourceInUseException(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn is_as_declared(database: &Database, table: &Table) -> Result<bool> {
    let described = database.describe_table(request(json!({"TableName": table.name}))?)?;
    let described = serde_json::to_value(described.table)?;
    let is_as_declared = FIXED_WHEN_CREATED.iter().all(|property| {
        let found = elements(described.get(property));
        let declared = elements(table.definition.get(*property));
        found.len() == declared.len() && declared.iter().all(|element| found.contains(element))
    });
    Ok(is_as_declared)
}

fn elements(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn ensure_expiry(database: &Database, table: &Table) -> Result<()> {
    let Some(attribute) = &table.time_to_live_attribute else {
        return Ok(());
    };
    let described = database.describe_time_to_live(request(json!({"TableName": table.name}))?)?;
    let found = described.time_to_live_description.attribute_name;
    if found.as_ref() == Some(attribute) {
        return Ok(());
    }
    let specification = json!({"AttributeName": attribute, "Enabled": true});
    let change = json!({"TableName": table.name, "TimeToLiveSpecification": specification});
    database.update_time_to_live(request(change)?)?;
    Ok(())
}
