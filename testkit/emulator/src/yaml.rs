//! YAML with CloudFormation's short tags to JSON with its long forms, so that the reader knows one
//! way of writing: `!Ref Name` becomes `{"Ref": "Name"}`, `!Sub text` becomes `{"Fn::Sub":
//! "text"}`. Evaluates nothing.

use anyhow::{Context as _, Result, bail};
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

/// The one document of `text`.
///
/// # Errors
/// It is not YAML, or no JSON can say it.
pub fn parse(text: &str) -> Result<Value> {
    let documents = Yaml::load_from_str(text).context("it is not YAML")?;
    match documents.as_slice() {
        [document] => json(document),
        several => bail!(
            "it holds {} YAML documents and should hold one.",
            several.len()
        ),
    }
}

fn json(node: &Yaml) -> Result<Value> {
    match node {
        Yaml::Value(scalar) => Ok(json_scalar(scalar)),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(members) => members
            .iter()
            .map(|(key, value)| Ok((key_text(key)?, json(value)?)))
            .collect::<Result<Map<_, _>>>()
            .map(Value::Object),
        Yaml::Tagged(tag, tagged) => {
            let function = match tag.suffix.as_str() {
                short @ ("Ref" | "Condition") => short.to_owned(),
                function => format!("Fn::{function}"),
            };
            Ok(Value::Object(Map::from_iter([(function, json(tagged)?)])))
        }
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            bail!("it holds a value that its YAML tag does not allow.")
        }
    }
}

fn json_scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(boolean) => Value::from(*boolean),
        Scalar::Integer(integer) => Value::from(*integer),
        Scalar::FloatingPoint(float) => Value::from(float.into_inner()),
        Scalar::String(text) => Value::from(text.as_ref()),
    }
}

fn key_text(key: &Yaml) -> Result<String> {
    match json(key)? {
        Value::String(text) => Ok(text),
        Value::Array(_) | Value::Object(_) => {
            bail!("it holds a mapping whose key is not a plain word.")
        }
        plain => Ok(plain.to_string()),
    }
}
