//! The `CorsConfiguration` of an `AWS::Serverless::HttpApi`, as the headers that API Gateway makes
//! of it.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The header with what a page may send.
const ALLOW_HEADERS: &str = "access-control-allow-headers";

/// What a browser page of another origin may do. `cargo dev --cors` names the origins; in a
/// deployment, a parameter does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// The headers that are added to the response to a preflight.
    pub preflight: Vec<(&'static str, String)>,
    /// The headers that are added to any other response.
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
                "AllowHeaders" => (&mut cors.preflight, ALLOW_HEADERS),
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

    /// Lets pages send these headers, too, as a parameter of the template does.
    pub fn allow_headers(&mut self, names: &[String]) {
        let mut headers = self.preflight.iter_mut();
        match headers.find(|(name, _)| *name == ALLOW_HEADERS) {
            Some((_, allowed)) => {
                for name in names {
                    allowed.push(',');
                    allowed.push_str(name);
                }
            }
            None if names.is_empty() => {}
            None => self.preflight.push((ALLOW_HEADERS, names.join(","))),
        }
    }
}

/// A number, or the texts of a list with commas between.
fn header_value(value: &Value) -> Option<String> {
    if let Some(number) = value.as_u64() {
        return Some(number.to_string());
    }
    let comma = Value::from(",");
    match split(value) {
        Some((separator, text)) => (*separator == comma).then(|| evaluate(text))?,
        None => join(value, ","),
    }
}

/// The separator and the text of `!Split [separator, text]`.
fn split(value: &Value) -> Option<(&Value, &Value)> {
    let [separator, text] = value.get("Fn::Split")?.as_array()?.as_slice() else {
        return None;
    };
    Some((separator, text))
}

/// A text, with its functions evaluated where the local stack can. Of `!If`, this is the second
/// value: what the template has when a parameter is empty.
fn evaluate(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    if let Some(otherwise) = value.pointer("/Fn::If/2") {
        return evaluate(otherwise);
    }
    let separator = value.pointer("/Fn::Join/0")?.as_str()?;
    join(value.pointer("/Fn::Join/1")?, separator)
}

fn join(texts: &Value, separator: &str) -> Option<String> {
    let texts: Option<Vec<_>> = texts.as_array()?.iter().map(evaluate).collect();
    Some(texts?.join(separator))
}
