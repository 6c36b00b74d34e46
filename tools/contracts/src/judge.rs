//! Reads the event contracts of a folder, and judges the `data` of signals by them. A contract
//! whose file changes is read again. Must not know where signals come from.
//!
//! A folder that cannot be read, or a file in it that is not a JSON Schema, ends the program when
//! it starts. If a file cannot be used any more later, only the verdicts on its type change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow};
use jsonschema::{Draft, Validator};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::file_name::{file_name, file_name_with_encoded_capitals};

/// The most breaks of a signal that are reported.
const MAX_BREAKS: usize = 20;

/// Whether a signal keeps the contract of its type. `cargo dev` has the same enum, as
/// `EventContractVerdict`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "contract")]
pub(crate) enum Verdict {
    #[serde(rename = "ok")]
    Kept,
    #[serde(rename = "broken")]
    Broken {
        /// The first [`MAX_BREAKS`] reasons.
        breaks: Vec<Break>,
    },
    /// Its type has no contract.
    #[serde(rename = "none")]
    NoContract,
}

impl Verdict {
    /// The verdict on a signal that cannot be judged: it counts as one that breaks its contract.
    pub(crate) fn unjudged(why: String) -> Self {
        Self::Broken {
            breaks: vec![Break {
                pointer: String::new(),
                message: why,
            }],
        }
    }
}

/// What breaks a contract.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Break {
    /// Where in `data`, as a JSON Pointer (RFC 6901).
    pub(crate) pointer: String,
    /// A sentence without the value.
    pub(crate) message: String,
}

/// The contracts of a folder.
pub(crate) struct Contracts {
    dir: PathBuf,
    /// The contracts that were read, by the names of their files.
    by_file: HashMap<String, Contract>,
}

struct Contract {
    /// The compiled schema, or why the file cannot be used.
    validator: Result<Validator, String>,
    /// When the file that was read last had been changed.
    modified: Option<SystemTime>,
}

impl Contracts {
    /// Reads the contracts of a folder.
    ///
    /// # Errors
    /// The folder cannot be read, or a contract is not a JSON Schema: says which, and where.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let mut contracts = Self {
            dir: dir.to_owned(),
            by_file: HashMap::new(),
        };
        let entries = fs::read_dir(dir)
            .with_context(|| format!("Cannot read the folder {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let contract = Contract {
                validator: Ok(compile(&path)?),
                modified: modified(&path),
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            contracts.by_file.insert(name, contract);
        }
        Ok(contracts)
    }

    /// Whether the folder had no contract when it was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_file.is_empty()
    }

    /// Judges the `data` of a signal of this type.
    pub(crate) fn judge(&mut self, signal_type: &str, data: &RawValue) -> Verdict {
        let Some(contract) = self.current(signal_type) else {
            return Verdict::NoContract;
        };
        let validator = match &contract.validator {
            Ok(validator) => validator,
            Err(why) => return Verdict::unjudged(why.clone()),
        };
        let data: Value = match serde_json::from_str(data.get()) {
            Ok(data) => data,
            Err(error) => return Verdict::unjudged(format!("the data cannot be judged: {error}")),
        };
        let breaks: Vec<_> = validator
            .iter_errors(&data)
            .take(MAX_BREAKS)
            .map(|error| Break {
                pointer: error.instance_path().to_string(),
                message: error.masked().to_string(),
            })
            .collect();
        if breaks.is_empty() {
            return Verdict::Kept;
        }
        Verdict::Broken { breaks }
    }

    /// The contract of a type as its file is now. A file with encoded capitals comes first: on a disk
    /// that ignores case, the other name may lead to the file of another type.
    fn current(&mut self, signal_type: &str) -> Option<&Contract> {
        let names = [
            file_name_with_encoded_capitals(signal_type),
            file_name(signal_type),
        ];
        for name in names {
            let path = self.dir.join(&name);
            let Some(modified) = modified(&path) else {
                self.by_file.remove(&name);
                continue;
            };
            let is_read = self
                .by_file
                .get(&name)
                .is_some_and(|contract| contract.modified == Some(modified));
            if !is_read {
                self.read_again(&name, &path, modified);
            }
            return self.by_file.get(&name);
        }
        None
    }

    /// Reads a contract that is new or has changed. If it cannot be used, the one that was read
    /// before stays.
    fn read_again(&mut self, name: &str, path: &Path, modified: SystemTime) {
        let validator = compile(path).map_err(|error| format!("{error:#}"));
        if let Err(why) = &validator {
            let before = self.by_file.get_mut(name);
            if let Some(usable) = before.filter(|contract| contract.validator.is_ok()) {
                eprintln!("{why}. The contract that was read before stays.");
                usable.modified = Some(modified);
                return;
            }
            eprintln!("{why}.");
        }
        let contract = Contract {
            validator,
            modified: Some(modified),
        };
        self.by_file.insert(name.to_owned(), contract);
    }
}

/// When a file was changed. `None` when there is no such file.
fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

fn compile(path: &Path) -> Result<Validator> {
    try_compile(path).with_context(|| format!("{} is not a JSON Schema", path.display()))
}

/// Compiles a schema. Nothing is read that it refers to outside of its file.
fn try_compile(path: &Path) -> Result<Validator> {
    let text = fs::read(path)?;
    let schema: Value = serde_json::from_slice(&text).context("this is not JSON")?;
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        // The standard leaves it open. An agreed format that is not checked would be a surprise.
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .build(&schema)
        .map_err(|error| anyhow!("at {:?}: {error}", error.instance_path().to_string()))
}

#[cfg(test)]
mod tests;
