//! Log lines in CloudWatch's embedded metric format ("Specification: Embedded metric format" in the
//! CloudWatch user guide). This module must not know what a line says.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use model::timestamp::Timestamp;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::metric::{FUNCTION, NAMESPACE};

static FUNCTION_NAME: LazyLock<String> = LazyLock::new(|| {
    std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "local".to_owned())
});

/// The target of events that are already a whole line.
pub(super) const EMF_TARGET: &str = "intake::emf";

/// A log line, with metrics if it has any with a value. CloudWatch bills every byte, so it contains
/// no level INFO, which Lambda assumes without one, and no unit.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a, M> {
    /// When it happened.
    pub at: Timestamp,
    /// WARN or ERROR; `None` is INFO.
    pub level: Option<&'static str>,
    /// The fields of the line that are not metrics. One without a value is left out.
    pub members: &'a [(&'static str, Option<Value<'a>>)],
    /// The name and the value of a second dimension of the metrics, beside the name of the
    /// function.
    pub dimension: Option<(&'static str, &'static str)>,
    /// The metrics, each with its name in CloudWatch. One without a value is left out.
    pub metrics: &'a [(M, Option<Value<'a>>)],
}

/// The value of a field or of a metric.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// A text that contains no value of a client.
    Text(&'a str),
    /// A number of things, or a percentage.
    Count(usize),
    /// Whether something is so.
    Bool(bool),
    /// Numbers of things by their code.
    Counts(&'a BTreeMap<&'static str, usize>),
    /// A duration, in milliseconds with two decimals: DynamoDB responds within a few.
    #[serde(serialize_with = "to_a_hundredth")]
    Milliseconds(Duration),
}

impl<M: AsRef<str>> Serialize for LogLine<'_, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Lambda ignores the level of a line without a timestamp, and adds one.
        map.serialize_entry("timestamp", &self.at.to_string())?;
        if let Some(level) = self.level {
            map.serialize_entry("level", level)?;
        }
        for (name, value) in self.members.iter().filter(|(_, value)| value.is_some()) {
            map.serialize_entry(name, value)?;
        }
        let metrics: Vec<_> = self
            .metrics
            .iter()
            .filter(|(_, value)| value.is_some())
            .collect();
        if !metrics.is_empty() {
            for (metric, value) in &metrics {
                map.serialize_entry(metric.as_ref(), value)?;
            }
            map.serialize_entry(FUNCTION, FUNCTION_NAME.as_str())?;
            if let Some((name, value)) = self.dimension {
                map.serialize_entry(name, value)?;
            }
            let names: Vec<_> = std::iter::once(FUNCTION)
                .chain(self.dimension.map(|(name, _)| name))
                .collect();
            let metrics: Vec<_> = metrics
                .iter()
                .map(|(metric, _)| json!({"Name": metric.as_ref()}))
                .collect();
            let directive =
                json!({"Namespace": NAMESPACE, "Dimensions": [names], "Metrics": metrics});
            map.serialize_entry(
                "_aws",
                &json!({"Timestamp": self.at.millis(), "CloudWatchMetrics": [directive]}),
            )?;
        }
        map.end()
    }
}

/// Writes a line to the log.
pub fn write<M: AsRef<str>>(line: &LogLine<'_, M>) {
    let text =
        serde_json::to_string(line).expect("texts, numbers and maps of them always serialize");
    tracing::info!(target: EMF_TARGET, line = %text);
}

fn to_a_hundredth<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 100_000.0).round() / 100.0)
}
