//! Compiles the JSON Schema in the file of an event contract. Must not know what it is for.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, Result, anyhow, bail};
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

/// The meta-schema of JSON Schema 2020-12, which also refuses keywords that it does not know. A
/// schema inside of another one is checked in the same way, since `$dynamicAnchor` replaces the
/// anchor of the same name in the meta-schema ("Dynamic References" in JSON Schema Core).
static KNOWN_KEYWORDS: LazyLock<Validator> = LazyLock::new(|| {
    let meta_schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:intake:known-keywords",
        "$dynamicAnchor": "meta",
        "$ref": "https://json-schema.org/draft/2020-12/schema",
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
/// The file cannot be read or is not a JSON Schema: says where.
pub(crate) fn compile(path: &Path) -> Result<Validator> {
    try_compile(path).with_context(|| format!("{} is not a JSON Schema", path.display()))
}

/// Nothing is read that the schema refers to outside of its file.
fn try_compile(path: &Path) -> Result<Validator> {
    let text = fs::read(path)?;
    let schema: Value = serde_json::from_slice(&text).context("this is not JSON")?;
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        // The standard leaves it open. An agreed format that is not checked would be a surprise.
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .build(&schema)
        .map_err(|error| anyhow!("at {:?}: {error}", error.instance_path().to_string()))?;
    ensure_known_keywords(&schema)?;
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
