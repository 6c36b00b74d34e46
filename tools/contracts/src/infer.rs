//! Makes event contracts that the given signals keep. A contract has the types of values, and
//! requires the members that all signals have. It has no values. Must not know how contracts are
//! judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::file_name::{file_name, file_name_with_encoded_capitals};
use crate::{SignalLine, counted};

/// The most different members of an object that its contract names. An object with more has data
/// for their names.
const MAX_MEMBERS: usize = 100;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What the signals of a type have in common.
#[derive(Default)]
struct SignalType {
    signals: u64,
    data: Shape,
}

/// What the values of one place have in common.
#[derive(Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    /// How many values are objects.
    objects: u64,
    /// The members of the objects, by their names.
    members: BTreeMap<String, Member>,
    /// What the elements of the arrays have in common.
    elements: Option<Box<Shape>>,
}

#[derive(Default)]
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

/// Writes a contract for each type.
///
/// # Errors
/// There is no signal; a contract is there already, unless `force` replaces it; or a file cannot be
/// written. Each ends the program.
pub(crate) fn infer(
    signals: impl Iterator<Item = Result<SignalLine>>,
    dir: &Path,
    force: bool,
    output: &mut impl Write,
) -> Result<()> {
    let types = read_types(signals)?;
    fs::create_dir_all(dir).with_context(|| format!("Cannot make the folder {}", dir.display()))?;
    ensure!(
        !types.is_empty(),
        "there is no signal to make a contract of."
    );
    let files = contract_files(&types, dir)?;
    let existing = files.iter().find_map(ContractFile::existing);
    if let Some(existing) = existing
        && !force
    {
        bail!(
            "{} is there already: --force replaces it. Nothing was written.",
            existing.display()
        );
    }
    // These are deleted before anything is written: on a disk that ignores case, the old name of one
    // type may be the new name of another.
    for path in files.iter().filter_map(|file| file.outdated.as_ref()) {
        fs::remove_file(path).with_context(|| format!("Cannot replace {}", path.display()))?;
    }
    for file in &files {
        file.write()?;
    }
    // The lines follow all files, since a reader that closes the output early must keep no file
    // from being written.
    for file in &files {
        let path = file.path.display();
        let signals = counted(file.signals.signals);
        writeln!(output, "{path}: {:?}, from {signals}", file.signal_type)?;
    }
    output.flush()?;
    Ok(())
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

/// Reads what the signals of each type have in common.
fn read_types(
    signals: impl Iterator<Item = Result<SignalLine>>,
) -> Result<BTreeMap<String, SignalType>> {
    let mut types: BTreeMap<String, SignalType> = BTreeMap::new();
    for signal in signals {
        let SignalLine { r#type, data, .. } = signal?;
        let data = serde_json::from_str(data.get())
            .with_context(|| format!("the data of a signal of the type {type:?} cannot be read"))?;
        let signal_type = types.entry(r#type).or_default();
        signal_type.signals += 1;
        signal_type.data.add(&data);
    }
    Ok(types)
}

impl ContractFile<'_> {
    /// The contract of the type that is there already.
    fn existing(&self) -> Option<&Path> {
        if self.path.exists() {
            return Some(&self.path);
        }
        self.outdated.as_deref()
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
        let mut types = self.types.clone();
        // Every integer is a number.
        if types.contains("number") {
            types.remove("integer");
        }
        let types: Vec<_> = types.into_iter().collect();
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
        Value::Number(number) if number.to_string().contains(['.', 'e', 'E']) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(signal_type: &str, data: &Value) -> Result<SignalLine> {
        Ok(SignalLine {
            r#type: signal_type.to_owned(),
            data: serde_json::value::to_raw_value(data)?,
            name: String::new(),
        })
    }

    fn signals(data: &[Value]) -> impl Iterator<Item = Result<SignalLine>> {
        data.iter().map(|data| signal("purchase", data))
    }

    /// Writes the contracts of these types. Returns the names of all files that are there afterwards.
    fn infer_types(dir: &Path, types: &[&str], force: bool) -> Result<Vec<String>> {
        let signals = types
            .iter()
            .map(|signal_type| signal(signal_type, &json!({})));
        infer(signals, dir, force, &mut Vec::new())?;
        Ok(names_in(dir)?.into_iter().collect())
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
        let object: Value = (0..=MAX_MEMBERS)
            .map(|number| (format!("user-{number}"), json!(1)))
            .collect();
        let mut shape = Shape::default();
        shape.add(&object);
        assert_eq!(Value::from(shape.schema()), json!({"type": "object"}));
    }
}
