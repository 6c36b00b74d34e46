//! Compiles the JSON Schema in the file of an event contract. Must not know what it is for.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, Result, anyhow, bail};
use jsonschema::{Draft, Validator};
use serde_json::Value;

use crate::json;

/// The dialect of contracts, by the URI that `$schema` has for it.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The meta-schema of JSON Schema 2020-12, which also refuses keywords that it does not know. A
/// schema inside of another one is checked in the same way, since `$dynamicAnchor` replaces the
/// anchor of the same name in the meta-schema ("Dynamic References" in JSON Schema Core).
static KNOWN_KEYWORDS: LazyLock<Validator> = LazyLock::new(|| {
    let meta_schema = serde_json::json!({
        "$schema": DIALECT,
        "$id": "urn:intake:known-keywords",
        "$dynamicAnchor": "meta",
        "$ref": DIALECT,
        "patternProperties": {"^x-": true},
        "unevaluatedProperties": false,
    });
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .build(&meta_schema)
        .expect("the constant is a JSON Schema")
});

/// Compiles the schema in this file.
///
/// # Errors
/// The file cannot be read or is not a JSON Schema (2020-12): says where.
pub(crate) fn compile(path: &Path) -> Result<Validator> {
    let no_schema = || format!("{} is not a JSON Schema", path.display());
    let schema = read_json(path).with_context(no_schema)?;
    if let Some(dialect) = schema.get("$schema")
        && !is_own_dialect(dialect)
    {
        bail!(
            "{} has the $schema {dialect}, and contracts are judged by {DIALECT:?}",
            path.display()
        );
    }
    build(&schema).with_context(no_schema)
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read(path)?;
    // What is no syntax error says itself what is wrong.
    json::read_schema(&text).map_err(|error| {
        if error.is_data() {
            error.into()
        } else {
            anyhow::Error::from(error).context("this is not JSON")
        }
    })
}

/// Whether this is the dialect of a contract. An empty fragment means the same (RFC 3986, section 3.5).
fn is_own_dialect(dialect: &Value) -> bool {
    let dialect = dialect.as_str().unwrap_or_default();
    dialect.strip_suffix('#').unwrap_or(dialect) == DIALECT
}

/// Nothing is read that the schema refers to outside of its file.
fn build(schema: &Value) -> Result<Validator> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        // The standard leaves it open. An agreed format that is not checked would be a surprise.
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .build(schema)
        .map_err(|error| anyhow!("at {:?}: {error}", error.instance_path().to_string()))?;
    ensure_known_keywords(schema)?;
    Ok(validator)
}

/// Checks that the schema has no keyword that JSON Schema does not know. The standard ignores these,
/// and a misspelt `required` would require nothing.
fn ensure_known_keywords(schema: &Value) -> Result<()> {
    // An unknown keyword makes each schema around it an error, too: the innermost one has it.
    let errors = KNOWN_KEYWORDS.iter_errors(schema);
    let innermost = errors.max_by_key(|error| error.instance_path().to_string().len());
    if let Some(error) = innermost {
        let place = error.instance_path().to_string();
        bail!(
            "at {place:?}: JSON Schema does not know this keyword, and one of your own begins with x-: {error}"
        );
    }
    Ok(())
}
