//! A template's tables in an emulator's database: created, or found as an earlier run left them in its file.

use dynoxide::Database;
use dynoxide::errors::DynoxideError;
use serde_json::{Value, json};

use super::request;
use crate::Error;
use crate::template::Table;

/// What a table found in a data file must have in common with its declaration.
const FIXED_WHEN_CREATED: [&str; 4] =
    ["AttributeDefinitions", "GlobalSecondaryIndexes", "KeySchema", "LocalSecondaryIndexes"];

/// Makes sure that `table` is there. Running it again changes nothing.
pub(super) fn ensure(database: &Database, table: &Table) -> Result<(), Error> {
    let refused = |error: String| Error::new(format!("Cannot create the table {}: {error}.", table.name));
    let definition = Value::from(table.definition.clone());
    match database.create_table(request(definition).map_err(refused)?) {
        Ok(_) => {}
        Err(DynoxideError::ResourceInUseException(_)) if is_as_declared(database, table).map_err(refused)? => {}
        Err(DynoxideError::ResourceInUseException(_)) => {
            return Err(Error::new(format!(
                "The data file's table {} is not as the template declares it: delete the file, or name another.",
                table.name,
            )));
        }
        Err(error) => return Err(refused(error.to_string())),
    }
    ensure_expiry(database, table).map_err(refused)
}

fn is_as_declared(database: &Database, table: &Table) -> Result<bool, String> {
    let described = database.describe_table(request(json!({"TableName": table.name}))?).map_err(|e| e.to_string())?;
    let described = serde_json::to_value(described.table).map_err(|error| error.to_string())?;
    Ok(FIXED_WHEN_CREATED.iter().all(|&property| match (described.get(property), table.definition.get(property)) {
        (Some(found), Some(declared)) => holds(found, declared),
        (_, declared) => declared.is_none(),
    }))
}

/// Whether `found` says all that `declared` says. It may say more: a description carries counts and states.
fn holds(found: &Value, declared: &Value) -> bool {
    match (found, declared) {
        (Value::Object(found), Value::Object(declared)) => {
            declared.iter().all(|(name, declared)| found.get(name).is_some_and(|found| holds(found, declared)))
        }
        (Value::Array(found), Value::Array(declared)) => {
            found.len() == declared.len()
                && declared.iter().all(|declared| found.iter().any(|found| holds(found, declared)))
        }
        _ => found == declared,
    }
}

fn ensure_expiry(database: &Database, table: &Table) -> Result<(), String> {
    let described = database
        .describe_time_to_live(request(json!({"TableName": table.name}))?)
        .map_err(|error| error.to_string())?;
    let found = described.time_to_live_description.attribute_name;
    let change = match (&found, &table.time_to_live_attribute) {
        (found, declared) if found == declared => return Ok(()),
        (_, Some(attribute)) => json!({"AttributeName": attribute, "Enabled": true}),
        (Some(attribute), None) => json!({"AttributeName": attribute, "Enabled": false}),
        (None, None) => return Ok(()),
    };
    let change = json!({"TableName": table.name, "TimeToLiveSpecification": change});
    database.update_time_to_live(request(change)?).map(drop).map_err(|error| error.to_string())
}
