//! The contracts of a folder, and what they say of a signal's `data`. A contract whose file changes
//! is read again.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow};
use data_encoding::HEXLOWER;
use jsonschema::{Draft, Validator};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// What breaks a contract is reported up to this number.
const MAX_BREAKS: usize = 20;

/// The longest encoded type that is a file's name, in bytes. File systems have 255 for a name.
const MAX_NAME_BYTES: usize = 200;

/// How many bytes of a longer type its file's name begins with: three characters each at most.
const KEPT_BYTES: usize = 40;

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

impl Verdict {
    /// A signal that cannot be judged: that is no reason to believe that it keeps its contract.
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
    /// By the names of their files.
    read: HashMap<String, Contract>,
}

struct Contract {
    /// Or why the file cannot be used.
    validator: Result<Validator, String>,
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
                    validator: Ok(compile(&path)?),
                    modified: modified(&path),
                };
                contracts
                    .read
                    .insert(name.to_string_lossy().into_owned(), contract);
            }
        }
        Ok(contracts)
    }

    /// Whether the folder had no contract when it was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Judges the `data` of a signal of this type.
    pub(crate) fn judge(&mut self, of: &str, data: &RawValue) -> Verdict {
        let name = file_name(of);
        let path = self.dir.join(&name);
        let Some(modified) = modified(&path) else {
            self.read.remove(&name);
            return Verdict::None;
        };
        let is_read = self
            .read
            .get(&name)
            .is_some_and(|contract| contract.modified == Some(modified));
        if !is_read {
            self.read_again(&name, &path, modified);
        }
        let validator = match self.read.get(&name).map(|contract| &contract.validator) {
            Some(Ok(validator)) => validator,
            Some(Err(why)) => return Verdict::unjudged(why.clone()),
            None => return Verdict::None,
        };
        let data: Value = match serde_json::from_str(data.get()) {
            Ok(data) => data,
            Err(error) => return Verdict::unjudged(format!("the data cannot be judged: {error}")),
        };
        let breaks = validator.iter_errors(&data).take(MAX_BREAKS).map(|error| {
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

    /// Reads a contract that is new or has changed. One that cannot be used replaces none that can.
    fn read_again(&mut self, name: &str, path: &Path, modified: SystemTime) {
        let validator = compile(path).map_err(|error| format!("{error:#}"));
        let last = self
            .read
            .get_mut(name)
            .filter(|last| last.validator.is_ok());
        match (validator, last) {
            (Err(why), Some(last)) => {
                eprintln!("{why}. The contract that was read before stays.");
                last.modified = Some(modified);
            }
            (validator, _) => {
                if let Err(why) = &validator {
                    eprintln!("{why}.");
                }
                let contract = Contract {
                    validator,
                    modified: Some(modified),
                };
                self.read.insert(name.to_owned(), contract);
            }
        }
    }
}

/// The name of the file of a type's contract: every byte but letters, digits, `_`, `-` and a `.`
/// that is not the first is percent-encoded, so that no type leads out of the folder. A name that
/// would be too long for a file system ends with the type's SHA-256.
pub(crate) fn file_name(of: &str) -> String {
    let encoded: Vec<_> = of
        .bytes()
        .enumerate()
        .map(|(place, byte)| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
            b'.' if place > 0 => ".".to_owned(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let name = encoded.concat();
    if name.len() <= MAX_NAME_BYTES {
        return name + ".json";
    }
    let begin: String = encoded.into_iter().take(KEPT_BYTES).collect();
    let digest = HEXLOWER.encode(&Sha256::digest(of));
    format!("{begin}%sha256-{digest}.json")
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
            // The standard leaves it open. An agreed format that is not checked would be a surprise.
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .build(&schema);
        validator.map_err(|error| anyhow!("at {:?}: {error}", error.instance_path().to_string()))
    });
    validator.with_context(|| format!("{} is not a JSON Schema", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(contracts: &mut Contracts, data: &str) -> Verdict {
        let data: &RawValue = serde_json::from_str(data).unwrap();
        contracts.judge("purchase", data)
    }

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
        let mut is_ok = |data: &str| judge(&mut contracts, data) == Verdict::Ok;
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
        assert_eq!(judge(&mut contracts, "{}"), Verdict::Ok);
        write(r#"{"type": "array"}"#, 1);
        assert!(matches!(
            judge(&mut contracts, "{}"),
            Verdict::Broken { .. }
        ));
        write(r#"{"type": "text"}"#, 2);
        assert!(matches!(
            judge(&mut contracts, "{}"),
            Verdict::Broken { .. }
        ));
        fs::remove_file(dir.path().join("purchase.json")).unwrap();
        assert_eq!(judge(&mut contracts, "{}"), Verdict::None);
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
            (r#"{"properties": {"price": {"format": "money"}}}"#, "money"),
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
    fn format_is_checked() {
        let (_dir, mut contracts) = contracts(r#"{"properties": {"at": {"format": "date-time"}}}"#);
        let at = |time: &str| format!("{{\"at\":\"{time}\"}}");
        assert_eq!(
            judge(&mut contracts, &at("2026-11-20T22:16:40Z")),
            Verdict::Ok
        );
        assert!(matches!(
            judge(&mut contracts, &at("yesterday")),
            Verdict::Broken { .. }
        ));
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

    #[test]
    fn type_of_any_length_has_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let types = ["李".repeat(256), "李".repeat(255), "a".repeat(256)];
        for of in &types {
            fs::write(dir.path().join(file_name(of)), "{}").unwrap();
        }
        let mut contracts = Contracts::read(dir.path()).unwrap();
        assert_eq!(contracts.read.len(), types.len());
        let data: &RawValue = serde_json::from_str("{}").unwrap();
        for of in &types {
            assert_eq!(contracts.judge(of, data), Verdict::Ok, "{of}");
        }
        assert_eq!(contracts.judge("other", data), Verdict::None);
    }

    #[test]
    fn contract_that_is_new_and_cannot_be_used_is_kept_by_no_signal() {
        let dir = tempfile::tempdir().unwrap();
        let mut contracts = Contracts::read(dir.path()).unwrap();
        assert_eq!(judge(&mut contracts, "{}"), Verdict::None);
        fs::write(dir.path().join("purchase.json"), "{").unwrap();
        for _ in 0..2 {
            let Verdict::Broken { breaks } = judge(&mut contracts, "{}") else {
                panic!("it was judged");
            };
            assert!(
                breaks[0]
                    .message
                    .contains("purchase.json is not a JSON Schema"),
                "{breaks:?}"
            );
        }
    }
}
