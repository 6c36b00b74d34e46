//! Contracts that signals keep, made of them: types, and members that were always there. They hold
//! no values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

use crate::judge::file_name;
use crate::{Signal, counted};

/// An object with more different members than this has data for their names: they are left out.
const MAX_MEMBERS: usize = 100;

/// What the values of one place have in common.
#[derive(Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    /// How many values are objects.
    objects: u64,
    /// The members of the objects, and in how many of these each is.
    members: BTreeMap<String, (u64, Shape)>,
    elements: Option<Box<Shape>>,
}

/// Writes a contract for each type.
///
/// # Errors
/// A contract is there already, unless `force` replaces it; or a file cannot be written.
pub(crate) fn infer(
    signals: impl Iterator<Item = Result<Signal>>,
    dir: &Path,
    force: bool,
    output: &mut impl Write,
) -> Result<()> {
    let mut shapes: BTreeMap<String, (u64, Shape)> = BTreeMap::new();
    for signal in signals {
        let Signal { of, data, .. } = signal?;
        let data = serde_json::from_str(data.get())
            .with_context(|| format!("the data of a signal of the type {of:?} cannot be read"))?;
        let (count, shape) = shapes.entry(of).or_default();
        *count += 1;
        shape.add(&data);
    }
    fs::create_dir_all(dir).with_context(|| format!("Cannot make the folder {}", dir.display()))?;
    let files: Vec<_> = shapes
        .iter()
        .map(|(of, shape)| (of, dir.join(file_name(of)), shape))
        .collect();
    ensure!(
        !files.is_empty(),
        "there is no signal to make a contract of."
    );
    if let Some((_, there, _)) = files.iter().find(|(_, path, _)| !force && path.exists()) {
        ensure!(
            false,
            "{} is there already: --force replaces it. Nothing was written.",
            there.display()
        );
    }
    // Printed at the end: a reader that closes its end early keeps no file from being written.
    let mut written = Vec::new();
    for (of, path, (count, shape)) in files {
        let mut schema = shape.schema();
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        fs::write(&path, format!("{:#}\n", Value::from(schema)))
            .with_context(|| format!("Cannot write {}", path.display()))?;
        written.push(format!(
            "{}: {of:?}, from {}",
            path.display(),
            counted(*count)
        ));
    }
    for line in written {
        writeln!(output, "{line}")?;
    }
    output.flush()?;
    Ok(())
}

impl Shape {
    fn add(&mut self, value: &Value) {
        self.types.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.to_string().contains(['.', 'e', 'E']) => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        match value {
            Value::Object(members) => {
                self.objects += 1;
                for (name, value) in members {
                    if self.members.len() <= MAX_MEMBERS || self.members.contains_key(name) {
                        let (count, shape) = self.members.entry(name.clone()).or_default();
                        *count += 1;
                        shape.add(value);
                    }
                }
            }
            Value::Array(elements) => {
                let shape = self.elements.get_or_insert_default();
                for element in elements {
                    shape.add(element);
                }
            }
            _ => {}
        }
    }

    fn schema(&self) -> Map<String, Value> {
        // Every integer is a number.
        let is_needed = |of: &&&str| **of != "integer" || !self.types.contains("number");
        let types: Vec<_> = self.types.iter().filter(is_needed).collect();
        let mut schema = Map::new();
        let mut add = |name: &str, value: Value| drop(schema.insert(name.to_owned(), value));
        match types.as_slice() {
            [] => {}
            [one] => add("type", json!(one)),
            several => add("type", json!(several)),
        }
        if self.objects > 0 && self.members.len() <= MAX_MEMBERS {
            let members = self.members.iter();
            let required = members
                .clone()
                .filter(|(_, (count, _))| *count == self.objects)
                .map(|(name, _)| name);
            add("required", required.cloned().collect());
            add(
                "properties",
                members
                    .map(|(name, (_, shape))| (name.clone(), Value::from(shape.schema())))
                    .collect(),
            );
        }
        if let Some(elements) = &self.elements {
            add("items", elements.schema().into());
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(data: &[Value]) -> impl Iterator<Item = Result<Signal>> {
        let signal = |data: &Value| {
            Ok(Signal {
                of: "purchase".to_owned(),
                data: serde_json::value::to_raw_value(data)?,
                name: String::new(),
            })
        };
        data.iter().map(signal)
    }

    #[test]
    fn contract_has_types_and_what_is_always_there_and_no_values() {
        let dir = tempfile::tempdir().unwrap();
        let data = [
            json!({"price": 1, "sku": "secret", "tags": ["a", null], "box": {"w": 1}}),
            json!({"price": 2.5, "sku": "secret", "tags": [], "box": {"h": true}}),
        ];
        let mut printed = Vec::new();
        infer(signals(&data), dir.path(), false, &mut printed).unwrap();
        let written: Value =
            serde_json::from_slice(&fs::read(dir.path().join("purchase.json")).unwrap()).unwrap();
        assert_eq!(
            written,
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {
                    "price": {"type": "number"},
                    "sku": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": ["null", "string"]}},
                    "box": {"type": "object", "properties": {"w": {"type": "integer"}, "h": {"type": "boolean"}}, "required": []},
                },
                "required": ["box", "price", "sku", "tags"],
            })
        );
        let error = infer(signals(&data), dir.path(), false, &mut printed).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        infer(signals(&data), dir.path(), true, &mut printed).unwrap();
    }

    #[test]
    fn object_with_data_for_names_has_no_names_in_its_contract() {
        let mut shape = Shape::default();
        shape.add(
            &(0..=MAX_MEMBERS)
                .map(|number| (format!("user-{number}"), json!(1)))
                .collect(),
        );
        assert_eq!(Value::from(shape.schema()), json!({"type": "object"}));
    }
}
