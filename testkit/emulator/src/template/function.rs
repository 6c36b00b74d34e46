//! One `AWS::Serverless::Function`: its package, its routes, and its variables with the values they
//! have locally.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};
use serde_json::Value;

use super::table::Table;

/// The `BatchSize` of an SQS event that has none.
const DEFAULT_BATCH_SIZE: usize = 10;

/// The `Timeout` of a function that has none, in seconds.
const DEFAULT_TIMEOUT: u64 = 3;

/// A function of the template.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name of the resource in the template, such as `SignalsFunction`.
    pub logical_id: String,
    /// The cargo package, which is also the name of its binary: the last segment of `CodeUri`.
    pub package: String,
    /// The messages in an event, at most, of the queue that sends it events. `None` without one.
    pub batch_size: Option<usize>,
    /// The timeout of an invocation.
    pub timeout: Duration,
    /// The routes that the HTTP API sends to it.
    pub routes: Vec<Route>,
    /// Its environment variables, those under `Globals` included and those that name a queue or an
    /// endpoint left out.
    pub environment: BTreeMap<String, String>,
}

/// A path and method of the HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The path as the template writes it, such as `/api/customers`.
    pub path: String,
    /// The method, or `ANY`.
    pub method: String,
    /// The logical id of the function behind it.
    pub function: String,
}

/// What a function's variables may refer to.
pub(super) struct Scope<'a> {
    pub(super) document: &'a Value,
    pub(super) tables: &'a [Table],
}

impl Function {
    /// The function, or none where neither the HTTP API nor a queue sends it anything: the local
    /// stack runs no other functions.
    pub(super) fn read(
        logical_id: &str,
        properties: &Value,
        scope: &Scope<'_>,
    ) -> Result<Option<Self>> {
        let routes = Route::read_all(logical_id, properties)?;
        let batch_size = batch_size(properties);
        if routes.is_empty() && batch_size.is_none() {
            return Ok(None);
        }
        let package = properties
            .get("CodeUri")
            .and_then(Value::as_str)
            .and_then(|path| Path::new(path).file_name()?.to_str())
            .with_context(|| {
                format!("the function {logical_id} has no CodeUri that names its package's folder.")
            })?;
        let mut environment = BTreeMap::new();
        let mut timeout = Duration::from_secs(DEFAULT_TIMEOUT);
        let globals = scope.document.pointer("/Globals/Function");
        // What the function itself declares replaces what the globals declare.
        for declared in globals.into_iter().chain([properties]) {
            if let Some(seconds) = declared.get("Timeout").and_then(Value::as_u64) {
                timeout = Duration::from_secs(seconds);
            }
            environment.extend(scope.read_variables(logical_id, declared)?);
        }
        Ok(Some(Self {
            logical_id: logical_id.to_owned(),
            package: package.to_owned(),
            batch_size,
            timeout,
            routes,
            environment,
        }))
    }
}

/// The batch size of the queue that sends a function with these properties events, if one does.
fn batch_size(properties: &Value) -> Option<usize> {
    let (_name, queue) = events(properties, "SQS").next()?;
    let declared = queue
        .pointer("/Properties/BatchSize")
        .and_then(Value::as_u64);
    let declared = declared.and_then(|size| usize::try_from(size).ok());
    Some(declared.unwrap_or(DEFAULT_BATCH_SIZE))
}

/// The events of one type, each with its name.
fn events<'a>(
    properties: &'a Value,
    kind: &'a str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let events = properties.get("Events").and_then(Value::as_object);
    events
        .into_iter()
        .flatten()
        .filter(move |(_, event)| event.get("Type").and_then(Value::as_str) == Some(kind))
}

impl Route {
    fn read_all(function: &str, properties: &Value) -> Result<Vec<Self>> {
        events(properties, "HttpApi")
            .map(|(event, declared)| Self::read(function, event, declared))
            .collect()
    }

    fn read(function: &str, event: &str, declared: &Value) -> Result<Self> {
        let text = |property: &str| {
            let properties = declared.get("Properties");
            let value = properties.and_then(|properties| properties.get(property)?.as_str());
            let value = value.with_context(|| {
                format!(
                    "the event {event} of the function {function} needs a {property}, written out."
                )
            })?;
            Ok::<_, Error>(value.to_owned())
        };
        let path = text("Path")?;
        if path.contains('{') {
            bail!(
                "the function {function} has the route {path}, whose variables the local stack cannot match."
            );
        }
        Ok(Self {
            path,
            method: text("Method")?.to_uppercase(),
            function: function.to_owned(),
        })
    }
}

impl Scope<'_> {
    /// The variables under `Environment`, each with the value that it has locally.
    fn read_variables(&self, function: &str, declared: &Value) -> Result<BTreeMap<String, String>> {
        let declared = declared
            .pointer("/Environment/Variables")
            .and_then(Value::as_object);
        let mut variables = BTreeMap::new();
        for (name, value) in declared.into_iter().flatten() {
            if name.starts_with("AWS_ENDPOINT_URL") || self.is_queue_or_bucket(value) {
                continue;
            }
            let value = self.evaluate(value).with_context(|| {
                format!("the function {function} has the variable {name}, which the local stack cannot evaluate.")
            })?;
            variables.insert(name.clone(), value);
        }
        Ok(variables)
    }

    /// The value that a variable has locally.
    fn evaluate(&self, value: &Value) -> Option<String> {
        plain_text(value).or_else(|| self.resolve(reference(value)?))
    }

    /// What a reference stands for: the name of a table, or the default of a parameter.
    fn resolve(&self, name: &str) -> Option<String> {
        if let Some(table) = self.tables.iter().find(|table| table.logical_id == name) {
            return Some(table.name.clone());
        }
        let parameter = self.document.get("Parameters")?.get(name)?;
        plain_text(parameter.get("Default")?)
    }

    /// Whether a variable refers to what the local stack has its own of, or has not.
    fn is_queue_or_bucket(&self, value: &Value) -> bool {
        let resources = self.document.get("Resources");
        let kind = resources
            .zip(reference(value))
            .and_then(|(resources, name)| resources.get(name)?.get("Type")?.as_str());
        matches!(kind, Some("AWS::S3::Bucket" | "AWS::SQS::Queue"))
    }
}

/// The logical id in `!Ref`.
fn reference(value: &Value) -> Option<&str> {
    value.get("Ref")?.as_str()
}

/// A text, a number or a boolean, as a variable has it.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
