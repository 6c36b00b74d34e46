//! Makes event contracts that the given signals keep. A contract has the types of values, and
//! requires the members that all signals have. It has no values. A number is a `number` also where
//! all signals have integers: a price of 20 may be 19.99 in the next signal. Must not know how
//! contracts are judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::file_name::{file_name, file_name_with_encoded_capitals};
use crate::schema::DIALECT;

/// The most different members of an object that its contract names. An object with more has data
/// for their names.
const MAX_MEMBERS: usize = 100;

/// What the signals that were added have in common, type by type.
#[derive(Debug, Default)]
pub struct SeenSignals {
    types: BTreeMap<String, SignalType>,
}

/// A contract that was written.
#[derive(Debug, PartialEq, Eq)]
pub struct WrittenContract {
    pub path: PathBuf,
    pub signal_type: String,
    /// How many signals it was made of.
    pub signals: u64,
}

/// What the signals of a type have in common.
#[derive(Debug, Default)]
struct SignalType {
    signals: u64,
    data: Shape,
}

/// What the values of one place have in common.
#[derive(Debug, Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    /// How many values are objects.
    objects: u64,
    /// The members of the objects, by their names.
    members: BTreeMap<String, Member>,
    /// What the elements of the arrays have in common.
    elements: Option<Box<Shape>>,
}

#[derive(Debug, Default)]
struct Member {
    /// How many objects have it.
    objects: u64,
    value: Shape,
}

/// A contract that is to be written.
struct ContractFile<'a> {
    path: PathBuf,
    /// A contract of the type that is there under the type's other name.
    outdated: Option<PathBuf>,
    signal_type: &'a str,
    signals: &'a SignalType,
}

impl SeenSignals {
    /// Adds a signal of this type, with the text of its `data`.
    ///
    /// # Errors
    /// The data cannot be read, such as data with an unpaired surrogate.
    pub fn add(&mut self, signal_type: &str, data: &str) -> Result<()> {
        let data = crate::json::read_data(data).with_context(|| {
            format!("the data of a signal of the type {signal_type:?} cannot be read")
        })?;
        let seen = self.types.entry(signal_type.to_owned()).or_default();
        seen.signals += 1;
        seen.data.add(&data);
        Ok(())
    }

    /// Writes a contract for each type into the folder `dir`, which it makes if need be. When all of
    /// them are written, returns which these are.
    ///
    /// # Errors
    /// No signal was added; a contract is there already, unless `force` replaces it; or a file
    /// cannot be written.
    pub fn write_contracts(&self, dir: &Path, force: bool) -> Result<Vec<WrittenContract>> {
        ensure!(
            !self.types.is_empty(),
            "there is no signal to make a contract of."
        );
        fs::create_dir_all(dir)
            .with_context(|| format!("Cannot make the folder {}", dir.display()))?;
        let files = contract_files(&self.types, dir)?;
        let existing = files.iter().find_map(ContractFile::existing);
        if let Some(existing) = existing
            && !force
        {
            bail!(
                "{} is there already: --force replaces it. Nothing was written.",
                existing.display()
            );
        }
        // These are deleted before anything is written: on a disk that ignores case, the old name of
        // one type may be the new name of another.
        for path in files.iter().filter_map(|file| file.outdated.as_ref()) {
            fs::remove_file(path).with_context(|| format!("Cannot replace {}", path.display()))?;
        }
        for file in &files {
            file.write()?;
        }
        Ok(files.into_iter().map(ContractFile::into_written).collect())
    }
}

/// Chooses the file of each type. A type whose usual name differs only in case from the name of another
/// type, or of a file that is there, has the name with encoded capitals.
fn contract_files<'a>(
    types: &'a BTreeMap<String, SignalType>,
    dir: &Path,
) -> Result<Vec<ContractFile<'a>>> {
    let present = names_in(dir)?;
    let mut names = present.clone();
    names.extend(types.keys().map(|signal_type| file_name(signal_type)));
    let mut names_without_case: BTreeMap<String, u64> = BTreeMap::new();
    for name in names {
        *names_without_case
            .entry(name.to_ascii_lowercase())
            .or_default() += 1;
    }
    let files = types.iter().map(|(signal_type, signals)| {
        let usual = file_name(signal_type);
        let with_encoded_capitals = file_name_with_encoded_capitals(signal_type);
        let is_ambiguous = names_without_case
            .get(&usual.to_ascii_lowercase())
            .is_some_and(|count| *count > 1);
        let (name, other_name) = if is_ambiguous {
            (with_encoded_capitals, usual)
        } else {
            (usual, with_encoded_capitals)
        };
        let is_outdated = other_name != name && present.contains(&other_name);
        ContractFile {
            path: dir.join(name),
            outdated: is_outdated.then(|| dir.join(other_name)),
            signal_type,
            signals,
        }
    });
    Ok(files.collect())
}

/// The names of the files in a folder.
fn names_in(dir: &Path) -> Result<BTreeSet<String>> {
    let cannot_read = || format!("Cannot read the folder {}", dir.display());
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir).with_context(cannot_read)? {
        let name = entry.with_context(cannot_read)?.file_name();
        names.insert(name.to_string_lossy().into_owned());
    }
    Ok(names)
}

impl ContractFile<'_> {
    /// The contract of the type that is there already.
    fn existing(&self) -> Option<&Path> {
        if self.path.exists() {
            return Some(&self.path);
        }
        self.outdated.as_deref()
    }

    fn into_written(self) -> WrittenContract {
        WrittenContract {
            path: self.path,
            signal_type: self.signal_type.to_owned(),
            signals: self.signals.signals,
        }
    }

    fn write(&self) -> Result<()> {
        let mut schema = self.signals.data.schema();
        schema.insert("$schema".to_owned(), json!(DIALECT));
        let text = format!("{:#}\n", Value::from(schema));
        fs::write(&self.path, text).with_context(|| format!("Cannot write {}", self.path.display()))
    }
}

impl Shape {
    fn add(&mut self, value: &Value) {
        self.types.insert(type_name(value));
        match value {
            Value::Object(members) => self.add_object(members),
            Value::Array(elements) => {
                let shape = self.elements.get_or_insert_default();
                for element in elements {
                    shape.add(element);
                }
            }
            _ => {}
        }
    }

    fn add_object(&mut self, members: &Map<String, Value>) {
        self.objects += 1;
        for (name, value) in members {
            // One more than the most is kept: it shows that there were too many.
            let is_kept = self.members.len() <= MAX_MEMBERS || self.members.contains_key(name);
            if !is_kept {
                continue;
            }
            let member = self.members.entry(name.clone()).or_default();
            member.objects += 1;
            member.value.add(value);
        }
    }

    fn schema(&self) -> Map<String, Value> {
        let mut schema = Map::new();
        if let Some(types) = self.type_keyword() {
            schema.insert("type".to_owned(), types);
        }
        if self.objects > 0 && self.members.len() <= MAX_MEMBERS {
            schema.insert("required".to_owned(), self.required());
            schema.insert("properties".to_owned(), self.properties());
        }
        if let Some(elements) = &self.elements {
            schema.insert("items".to_owned(), elements.schema().into());
        }
        schema
    }

    fn type_keyword(&self) -> Option<Value> {
        let types: Vec<_> = self.types.iter().collect();
        match types.as_slice() {
            [] => None,
            [one] => Some(json!(one)),
            several => Some(json!(several)),
        }
    }

    /// The names of the members that all objects have.
    fn required(&self) -> Value {
        self.members
            .iter()
            .filter(|(_, member)| member.objects == self.objects)
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn properties(&self) -> Value {
        self.members
            .iter()
            .map(|(name, member)| (name.clone(), Value::from(member.value.schema())))
            .collect()
    }
}

/// The type of a value, as JSON Schema names it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(signal_type: &str, data: &[Value]) -> SeenSignals {
        let mut seen = SeenSignals::default();
        for data in data {
            seen.add(signal_type, &data.to_string()).unwrap();
        }
        seen
    }

    /// Writes the contracts of these types. Returns the names of all files that are there afterwards.
    fn infer_types(dir: &Path, types: &[&str], force: bool) -> Result<Vec<String>> {
        let mut seen = SeenSignals::default();
        for signal_type in types {
            seen.add(signal_type, "{}")?;
        }
        seen.write_contracts(dir, force)?;
        Ok(names_in(dir)?.into_iter().collect())
    }

    #[test]
    fn data_that_cannot_be_read_and_no_signal_at_all_are_errors() {
        let mut seen = SeenSignals::default();
        let error = seen.add("purchase", r#"{"sku":"\ud800"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the data of a signal of the type \"purchase\" cannot be read"
        );
        let dir = tempfile::tempdir().unwrap();
        let error = seen.write_contracts(dir.path(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no signal to make a contract of."
        );
    }

    #[test]
    fn types_that_differ_only_in_case_have_names_that_differ_without_case() {
        let dir = tempfile::tempdir().unwrap();
        let names = infer_types(dir.path(), &["Login", "View", "login"], false).unwrap();
        assert_eq!(names, ["%4Cogin.json", "View.json", "login.json"]);
    }

    #[test]
    fn type_has_another_name_when_a_file_is_there_that_differs_only_in_case() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("login.json"), "{}").unwrap();
        let names = infer_types(dir.path(), &["Login"], false).unwrap();
        assert_eq!(names, ["%4Cogin.json", "login.json"]);
        let kept = fs::read_to_string(dir.path().join("login.json")).unwrap();
        assert_eq!(kept, "{}");
    }

    #[test]
    fn contract_under_the_other_name_of_its_type_is_replaced_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        infer_types(dir.path(), &["Login"], false).unwrap();
        let types = ["Login", "login"];
        let error = infer_types(dir.path(), &types, false).unwrap_err();
        assert!(
            error.to_string().contains("Login.json is there already"),
            "{error}"
        );
        let names = infer_types(dir.path(), &types, true).unwrap();
        assert_eq!(names, ["%4Cogin.json", "login.json"]);
    }

    #[test]
    fn contract_has_types_and_what_is_always_there_and_no_values() {
        let dir = tempfile::tempdir().unwrap();
        let data = [
            json!({"price": 1, "sku": "secret", "tags": ["a", null], "box": {"w": 1}}),
            json!({"price": 2.5, "sku": "secret", "tags": [], "box": {"h": true}}),
        ];
        let seen = seen("purchase", &data);
        let written = seen.write_contracts(dir.path(), false).unwrap();
        let expected = WrittenContract {
            path: dir.path().join("purchase.json"),
            signal_type: "purchase".to_owned(),
            signals: 2,
        };
        assert_eq!(written, [expected]);
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
                    "box": {"type": "object", "properties": {"w": {"type": "number"}, "h": {"type": "boolean"}}, "required": []},
                },
                "required": ["box", "price", "sku", "tags"],
            })
        );
        let error = seen.write_contracts(dir.path(), false).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        seen.write_contracts(dir.path(), true).unwrap();
    }

    #[test]
    fn object_with_data_for_names_has_no_names_in_its_contract() {
        let object: Value = (0..=MAX_MEMBERS)
            .map(|number| (format!("user-{number}"), json!(1)))
            .collect();
        let mut shape = Shape::default();
        shape.add(&object);
        assert_eq!(Value::from(shape.schema()), json!({"type": "object"}));
    }
}
