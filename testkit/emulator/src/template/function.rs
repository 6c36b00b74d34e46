//! One `AWS::Serverless::Function`: its package, its routes, and its variables with the values they
//! have locally.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::table::Table;
use crate::yaml::function_in;

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
    /// How many messages of a queue it gets at most in one event, if its events come from a queue.
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
        let routes = Route::of_function(logical_id, properties)?;
        let batch_size = events(properties, "SQS").next().map(|(_, queue)| {
            let size = queue
                .pointer("/Properties/BatchSize")
                .and_then(Value::as_u64);
            size.and_then(|size| usize::try_from(size).ok())
                .unwrap_or(DEFAULT_BATCH_SIZE)
        });
        if routes.is_empty() && batch_size.is_none() {
            return Ok(None);
        }
        let wrong = |what: String| anyhow!("the function {logical_id} {what}");
        let package = properties
            .get("CodeUri")
            .and_then(Value::as_str)
            .and_then(|path| Path::new(path).file_name()?.to_str())
            .ok_or_else(|| wrong("has no CodeUri that names its package's folder.".to_owned()))?;
        let mut environment = BTreeMap::new();
        let mut timeout = Duration::from_secs(DEFAULT_TIMEOUT);
        for declared in [
            scope.document.pointer("/Globals/Function"),
            Some(properties),
        ] {
            let seconds = declared.and_then(|declared| declared.get("Timeout")?.as_u64());
            timeout = seconds.map_or(timeout, Duration::from_secs);
            let variables =
                declared.and_then(|declared| declared.pointer("/Environment/Variables"));
            // The local stack has endpoints of its own.
            let is_kept = |(name, _): &(&String, &Value)| !name.starts_with("AWS_ENDPOINT_URL");
            for (name, value) in variables
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter(is_kept)
            {
                let value = scope
                    .evaluate(value)
                    .map_err(|why| wrong(format!("has the variable {name}, {why}")))?;
                environment.extend(value.map(|value| (name.clone(), value)));
            }
        }
        let (logical_id, package) = (logical_id.to_owned(), package.to_owned());
        Ok(Some(Self {
            logical_id,
            package,
            batch_size,
            timeout,
            routes,
            environment,
        }))
    }
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
    fn of_function(function: &str, properties: &Value) -> Result<Vec<Self>> {
        events(properties, "HttpApi")
            .map(|(event, declared)| Self::read(function, event, declared))
            .collect()
    }

    fn read(function: &str, event: &str, declared: &Value) -> Result<Self> {
        let text = |property: &str| {
            let value = declared
                .get("Properties")
                .and_then(|properties| properties.get(property));
            value.and_then(Value::as_str).map(str::to_owned).with_context(|| {
                format!("the event {event} of the function {function} needs a {property}, written out.")
            })
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
    /// The value that a variable has locally, none where it refers to a queue or a bucket (the
    /// stack has its own, or none), or the rest of a sentence about why it cannot be evaluated.
    fn evaluate(&self, value: &Value) -> Result<Option<String>, String> {
        match value {
            Value::String(text) => Ok(Some(text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok(Some(value.to_string())),
            _ => match value.get("Ref").and_then(Value::as_str) {
                Some(name) => self.resolve(name),
                None => Err(match function_in(value) {
                    Some(function) => format!("whose {function} the local stack cannot evaluate."),
                    None => "which is neither a text, a number nor a boolean.".to_owned(),
                }),
            },
        }
    }

    fn resolve(&self, name: &str) -> Result<Option<String>, String> {
        if let Some(table) = self.tables.iter().find(|table| table.logical_id == name) {
            return Ok(Some(table.name.clone()));
        }
        let resource = self
            .document
            .get("Resources")
            .and_then(|resources| resources.get(name)?.get("Type")?.as_str());
        if matches!(resource, Some("AWS::S3::Bucket" | "AWS::SQS::Queue")) {
            return Ok(None);
        }
        let parameter = self
            .document
            .get("Parameters")
            .and_then(|parameters| parameters.get(name));
        match parameter.map(|parameter| parameter.get("Default")) {
            Some(Some(Value::String(text))) => Ok(Some(text.clone())),
            Some(Some(default @ (Value::Number(_) | Value::Bool(_)))) => {
                Ok(Some(default.to_string()))
            }
            Some(_) => Err(format!(
                "a reference to the parameter {name}, which has no default to use locally."
            )),
            None => Err(format!(
                "a reference to {name}, which is neither a table nor a parameter of the template."
            )),
        }
    }
}
