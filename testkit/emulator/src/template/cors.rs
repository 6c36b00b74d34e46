//! The `CorsConfiguration` of an `AWS::Serverless::HttpApi`, as the headers that API Gateway makes
//! of it.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// What a browser page of another origin may do. `cargo dev --cors` names the origins; in a
/// deployment, a parameter does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// The headers that are added to the answer to a preflight.
    pub preflight: Vec<(&'static str, String)>,
    /// The headers that are added to any other answer.
    pub other: Vec<(&'static str, String)>,
}

impl Cors {
    /// The configuration of the API with this logical id; none if it has none.
    pub(super) fn read(logical_id: &str, properties: &Value) -> Result<Option<Self>> {
        let Some(declared) = properties.get("CorsConfiguration") else {
            return Ok(None);
        };
        // `!If [condition, configuration, none]`: it is the configuration that is wanted here.
        let declared = declared.pointer("/Fn::If/1").unwrap_or(declared);
        let mut cors = Self::default();
        for (property, value) in declared.as_object().into_iter().flatten() {
            let (headers, name) = match property.as_str() {
                "AllowHeaders" => (&mut cors.preflight, "access-control-allow-headers"),
                "AllowMethods" => (&mut cors.preflight, "access-control-allow-methods"),
                "MaxAge" => (&mut cors.preflight, "access-control-max-age"),
                "ExposeHeaders" => (&mut cors.other, "access-control-expose-headers"),
                "AllowOrigins" => continue,
                _ => bail!(
                    "the CorsConfiguration of {logical_id} has the property {property}, which the local stack cannot apply."
                ),
            };
            let value = header_value(value).with_context(|| {
                format!("the CorsConfiguration of {logical_id} needs {property} written out.")
            })?;
            headers.push((name, value));
        }
        Ok(Some(cors))
    }
}

/// A number, or the texts of a list with commas between.
fn header_value(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Array(texts) => texts
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.join(",")),
        _ => None,
    }
}
