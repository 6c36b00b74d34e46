//! Reads the event contracts of a folder, and judges the `data` of signals by them. A contract
//! whose file changes is read again. Must not know where signals come from.
//!
//! A folder that cannot be read, or a file in it that is the contract of no type or not a JSON
//! Schema, is an error at first. If
//! a file cannot be used any more later, only the verdicts on its type change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};
use jsonschema::Validator;
use serde::Serialize;

use crate::file_name::{
    ensure_name_of_type, file_name, file_name_with_encoded_capitals, is_meant_as_contract,
};
use crate::json;
use crate::schema::compile;

/// The most breaks of a signal that are reported.
const MAX_BREAKS: usize = 20;

/// Whether a signal keeps the contract of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    /// The first reasons, at most 20.
    Broken(Vec<Break>),
    /// Its type has no contract.
    NoContract,
}

impl Verdict {
    /// The verdict on a signal that cannot be judged: it counts as one that breaks its contract.
    pub fn unjudged(why: String) -> Self {
        Self::Broken(vec![Break {
            pointer: String::new(),
            message: why,
        }])
    }
}

/// What breaks a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    /// Where in `data`, as a JSON Pointer (RFC 6901).
    pub pointer: String,
    /// A sentence without the value.
    pub message: String,
}

/// The contracts of a folder.
#[derive(Debug)]
pub struct Contracts {
    dir: PathBuf,
    /// The contracts that were read, by the names of their files.
    by_file: HashMap<String, Contract>,
    /// What is wrong with files that have changed, and not taken yet.
    notes: Vec<String>,
}

#[derive(Debug)]
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
    /// The folder cannot be read; or a file that ends with `.json` has a name that no type's contract
    /// has, or is not a JSON Schema: says which, and where.
    pub fn read(dir: &Path) -> Result<Self> {
        let mut contracts = Self {
            dir: dir.to_owned(),
            by_file: HashMap::new(),
            notes: Vec::new(),
        };
        let entries = fs::read_dir(dir)
            .with_context(|| format!("Cannot read the folder {}", dir.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_meant_as_contract(&name) {
                continue;
            }
            ensure_name_of_type(&name)
                .with_context(|| format!("{} is the contract of no type", path.display()))?;
            let contract = Contract {
                validator: Ok(compile(&path)?),
                modified: modified(&path),
            };
            contracts.by_file.insert(name, contract);
        }
        Ok(contracts)
    }

    /// Checks that the folder had a contract when it was read: its name may be misspelt.
    ///
    /// # Errors
    /// It had none.
    pub fn ensure_any(&self) -> Result<()> {
        ensure!(
            !self.by_file.is_empty(),
            "{} has no contract: a file TYPE.json for each type.",
            self.dir.display()
        );
        Ok(())
    }

    /// Sentences about files that have changed and cannot be used, each once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Judges a signal of this type by the text of its `data`. If that is JSON that cannot be
    /// judged, such as data that is nested too deeply, the verdict says so.
    pub fn judge(&mut self, signal_type: &str, data: &str) -> Verdict {
        let Some(contract) = self.current(signal_type) else {
            return Verdict::NoContract;
        };
        let validator = match &contract.validator {
            Ok(validator) => validator,
            Err(why) => return Verdict::unjudged(why.clone()),
        };
        let data = match json::read_data(data) {
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
        Verdict::Broken(breaks)
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
                usable.modified = Some(modified);
                self.notes
                    .push(format!("{why}. The contract that was read before stays."));
                return;
            }
            self.notes.push(format!("{why}."));
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

#[cfg(test)]
mod tests;
