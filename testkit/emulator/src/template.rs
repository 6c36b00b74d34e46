//! What the local stack takes from template.yaml: tables, functions, their routes and their
//! variables, and what pages of other origins may do.
//!
//! The local stack reads and evaluates nothing else of the template, so conditions, alarms,
//! permissions or queues cannot stop it. It must understand all that it reads: a key or a variable
//! that only AWS could evaluate is an error.

mod cors;
mod function;
mod table;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use crate::yaml;
pub use cors::Cors;
pub use function::{Function, Route};
pub use table::Table;

/// The part of a template that the local stack acts on.
#[derive(Clone, Debug)]
pub struct Template {
    /// Every `AWS::DynamoDB::Table`, in the order of the template.
    pub tables: Vec<Table>,
    /// Every `AWS::Serverless::Function` behind the HTTP API or a queue, in the order of the
    /// template.
    pub functions: Vec<Function>,
    /// What the HTTP API lets pages of other origins do, when there is a `CorsConfiguration`.
    pub cors: Option<Cors>,
}

impl Template {
    /// Reads the template at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not YAML, or says something about a table, a route or a variable
    /// that cannot be carried out on one machine.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("Cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads a template from its text.
    ///
    /// # Errors
    /// As [`Template::read`].
    pub fn parse(text: &str) -> Result<Self> {
        let document = yaml::parse(text)?;
        let resources = document
            .get("Resources")
            .and_then(Value::as_object)
            .context("there are no Resources in it.")?;
        let tables = resources_of_type(resources, "AWS::DynamoDB::Table")
            .map(|(logical_id, properties)| Table::read(logical_id, properties))
            .collect::<Vec<_>>();
        let scope = function::Scope {
            document: &document,
            tables: &tables,
        };
        let mut functions = Vec::new();
        for (logical_id, properties) in resources_of_type(resources, "AWS::Serverless::Function") {
            functions.extend(Function::read(logical_id, properties, &scope)?);
        }
        let mut cors = None;
        for (logical_id, api) in resources_of_type(resources, "AWS::Serverless::HttpApi") {
            let of_this_api = Cors::read(logical_id, api)?;
            cors = cors.or(of_this_api);
        }
        Ok(Self {
            tables,
            functions,
            cors,
        })
    }

    /// The table declared under `logical_id`.
    ///
    /// # Errors
    /// The template declares no such table.
    pub fn table(&self, logical_id: &str) -> Result<&Table> {
        self.tables
            .iter()
            .find(|table| table.logical_id == logical_id)
            .with_context(|| format!("The template declares no table {logical_id}."))
    }

    /// The function of this cargo package.
    ///
    /// # Errors
    /// The template declares no such function.
    pub fn function(&self, package: &str) -> Result<&Function> {
        self.functions
            .iter()
            .find(|function| function.package == package)
            .with_context(|| format!("The template declares no function of the package {package}."))
    }

    /// The messages in an event of the function behind a queue, at most. `None` when there is none.
    pub fn batch_size(&self) -> Option<usize> {
        self.functions
            .iter()
            .find_map(|function| function.batch_size)
    }

    /// The routes of all functions.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.functions.iter().flat_map(|function| &function.routes)
    }

    /// The variables of all functions in one list, sorted by name: the local stack starts the
    /// functions from one process, whose environment they share.
    ///
    /// # Errors
    /// Two functions give one variable two values.
    pub fn environment(&self) -> Result<Vec<(String, String)>> {
        let mut merged = std::collections::BTreeMap::new();
        for function in &self.functions {
            for (name, value) in &function.environment {
                let previous = merged.insert(name.clone(), value.clone());
                if previous.is_some_and(|previous| previous != *value) {
                    bail!(
                        "Two functions of the template give the variable {name} different values, and the local stack \
                         gives all functions one environment: use two names."
                    );
                }
            }
        }
        Ok(merged.into_iter().collect())
    }
}

/// The resources of one type, each with its logical id and its properties (null where it has none).
fn resources_of_type<'a>(
    resources: &'a Map<String, Value>,
    kind: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let of_this_type = resources
        .iter()
        .filter(move |(_, resource)| resource.get("Type").and_then(Value::as_str) == Some(kind));
    of_this_type.map(|(id, resource)| {
        let properties = resource.get("Properties").unwrap_or(&Value::Null);
        (id.as_str(), properties)
    })
}

#[cfg(test)]
mod tests;
