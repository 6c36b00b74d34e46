//! The contracts of a folder, and what they say of a signal's `data`. A contract whose file changes
//! is read again.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow};
use jsonschema::{Draft, Validator};
use serde::Serialize;
use serde_json::Value;

/// What breaks a contract is reported up to this number.
const MAX_BREAKS: usize = 20;

/// Whether a signal keeps the contract of its type.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "contract", rename_all = "camelCase")]
pub(crate) enum Verdict {
    /// It does.
    Ok,
    /// It does not.
    Broken {
        /// Why, the first 20 reasons.
        breaks: Vec<Break>,
    },
    /// Its type has no contract.
    None,
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
    /// By the names of their files.
    read: HashMap<String, Contract>,
}

struct Contract {
    validator: Validator,
    /// Of the file that was tried last.
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
            read: HashMap::new(),
        };
        for entry in fs::read_dir(dir)
            .with_context(|| format!("Cannot read the folder {}", dir.display()))?
        {
            let path = entry?.path();
            if let Some(name) = path
                .file_name()
                .filter(|_| path.extension().is_some_and(|ending| ending == "json"))
            {
                let contract = Contract {
                    validator: compile(&path)?,
                    modified: modified(&path),
                };
                contracts
                    .read
                    .insert(name.to_string_lossy().into_owned(), contract);
            }
        }
        Ok(contracts)
    }

    /// Judges the `data` of a signal of this type.
    pub(crate) fn judge(&mut self, of: &str, data: &Value) -> Verdict {
        let name = file_name(of);
        let path = self.dir.join(&name);
        let Some(modified) = modified(&path) else {
            self.read.remove(&name);
            return Verdict::None;
        };
        if self
            .read
            .get(&name)
            .is_none_or(|contract| contract.modified != Some(modified))
        {
            match (compile(&path), self.read.get_mut(&name)) {
                (Ok(validator), _) => {
                    drop(self.read.insert(
                        name.clone(),
                        Contract {
                            validator,
                            modified: Some(modified),
                        },
                    ));
                }
                (Err(error), Some(last)) => {
                    eprintln!("{error:#}. The contract that was read before stays.");
                    last.modified = Some(modified);
                }
                (Err(error), None) => eprintln!("{error:#}."),
            }
        }
        let Some(Contract { validator, .. }) = self.read.get(&name) else {
            return Verdict::None;
        };
        let breaks = validator.iter_errors(data).take(MAX_BREAKS).map(|error| {
            let (pointer, message) = (
                error.instance_path().to_string(),
                error.masked().to_string(),
            );
            Break { pointer, message }
        });
        let breaks: Vec<_> = breaks.collect();
        if breaks.is_empty() {
            Verdict::Ok
        } else {
            Verdict::Broken { breaks }
        }
    }
}

/// The name of the file of a type's contract: every byte but letters, digits, `_`, `-` and a `.`
/// that is not the first is percent-encoded, so that no type leads out of the folder.
pub(crate) fn file_name(of: &str) -> String {
    let encoded = of.bytes().enumerate().map(|(place, byte)| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
        b'.' if place > 0 => ".".to_owned(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect::<String>() + ".json"
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// Nothing is read that a contract refers to outside of its file.
fn compile(path: &Path) -> Result<Validator> {
    let schema = fs::read(path).map_err(anyhow::Error::from);
    let schema =
        schema.and_then(|text| serde_json::from_slice::<Value>(&text).context("this is not JSON"));
    let validator = schema.and_then(|schema| {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .build(&schema);
        validator.map_err(|error| anyhow!("at {:?}: {error}", error.instance_path().to_string()))
    });
    validator.with_context(|| format!("{} is not a JSON Schema", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn contracts(schema: &str) -> (tempfile::TempDir, Contracts) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("purchase.json"), schema).unwrap();
        let contracts = Contracts::read(dir.path()).unwrap();
        (dir, contracts)
    }

    #[test]
    fn number_is_judged_with_all_its_digits() {
        let (_dir, mut contracts) =
            contracts(r#"{"maximum": 9007199254740992.5, "multipleOf": 0.01}"#);
        let mut is_ok = |data: &str| {
            contracts.judge("purchase", &serde_json::from_str(data).unwrap()) == Verdict::Ok
        };
        assert!(is_ok("9007199254740992") && is_ok("0.07") && is_ok("19.99"));
        assert!(!is_ok("9007199254740993") && !is_ok("0.070000000000000000000000001"));
    }

    #[test]
    fn contract_that_changes_is_read_again_and_one_that_cannot_be_used_is_not() {
        let (dir, mut contracts) = contracts(r#"{"type": "object"}"#);
        let write = |schema: &str, seconds| {
            let path = dir.path().join("purchase.json");
            fs::write(&path, schema).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(time)
                .unwrap();
        };
        assert_eq!(contracts.judge("purchase", &json!({})), Verdict::Ok);
        write(r#"{"type": "array"}"#, 1);
        assert!(matches!(
            contracts.judge("purchase", &json!({})),
            Verdict::Broken { .. }
        ));
        write(r#"{"type": "text"}"#, 2);
        assert!(matches!(
            contracts.judge("purchase", &json!({})),
            Verdict::Broken { .. }
        ));
        fs::remove_file(dir.path().join("purchase.json")).unwrap();
        assert_eq!(contracts.judge("purchase", &json!({})), Verdict::None);
    }

    #[test]
    fn contract_that_is_no_schema_is_an_error_with_its_file_and_place() {
        let dir = tempfile::tempdir().unwrap();
        for (schema, place) in [
            (
                r#"{"properties": {"price": {"type": "text"}}}"#,
                "/properties/price/type",
            ),
            ("{\n  \"type\": ", "line 2"),
            (
                r#"{"$ref": "https://example.com/schema.json"}"#,
                "https://example.com/schema.json",
            ),
        ] {
            fs::write(dir.path().join("purchase.json"), schema).unwrap();
            let error = format!("{:#}", Contracts::read(dir.path()).err().unwrap());
            assert!(
                error.contains("purchase.json is not a JSON Schema") && error.contains(place),
                "{error}"
            );
        }
    }

    #[test]
    fn file_of_a_type_is_within_the_folder() {
        for (of, name) in [
            ("product_viewed", "product_viewed.json"),
            ("../a b", "%2E.%2Fa%20b.json"),
            ("é.v2", "%C3%A9.v2.json"),
        ] {
            assert_eq!(file_name(of), name);
        }
    }
}
