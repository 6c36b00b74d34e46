//! Log lines in CloudWatch's embedded metric format ("Specification: Embedded metric format" in the
//! CloudWatch user guide), and where they go. This module must not know what a line says.
//!
//! A [`Log`] gets the lines that documents, metrics and alarms rely on: what became of each request,
//! message or record. It is handed to the code that writes them, so that a test reads them. Anything
//! else that an operator may want to know, such as why a call failed, is an event of `tracing`,
//! which any code can write.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

use aws::variables::Variables;
use model::timestamp::Timestamp;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::metric::{FUNCTION, Metrics, NAMESPACE};

/// Where the lines of a function go. A clone goes to the same place.
#[derive(Clone)]
pub struct Log {
    function_name: Arc<str>,
    write: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Log")
            .field(&self.function_name)
            .finish()
    }
}

/// A log line, with metrics if it has any. CloudWatch bills every byte, so it contains no level
/// INFO, which Lambda assumes without one, and no unit.
#[derive(Debug)]
pub struct LogLine<M> {
    /// When it happened.
    pub at: Timestamp,
    /// `None` is INFO.
    pub level: Option<Level>,
    /// The members of the line that are not metrics: a structure or a map.
    pub members: M,
    /// A second dimension of the metrics, beside the name of the function.
    pub dimension: Option<Dimension>,
    pub metrics: Metrics,
}

/// The level of a line that tells the operator of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// The operator should look at it.
    Warn,
    /// Something failed.
    Error,
}

#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    pub name: &'static str,
    pub value: &'static str,
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.name, self.value)?;
        map.end()
    }
}

/// A line as it is written. Lambda ignores the level of a line without a timestamp, and adds one.
#[derive(Serialize)]
struct WrittenLine<'a, M> {
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
    #[serde(flatten)]
    members: &'a M,
    #[serde(flatten)]
    metrics: Option<WrittenMetrics<'a>>,
}

/// The metrics of a line, and what makes CloudWatch read them.
#[derive(Serialize)]
struct WrittenMetrics<'a> {
    #[serde(flatten)]
    metrics: &'a Metrics,
    #[serde(rename = "FunctionName")]
    function_name: &'a str,
    #[serde(flatten)]
    dimension: Option<Dimension>,
    #[serde(rename = "_aws")]
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata {
    timestamp: u64,
    #[serde(rename = "CloudWatchMetrics")]
    directives: [MetricDirective; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDirective {
    namespace: &'static str,
    dimensions: [Vec<&'static str>; 1],
    metrics: Vec<MetricDefinition>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDefinition {
    name: &'static str,
}

impl Log {
    /// The log of the function with this name. `write` gets each line, without its end.
    pub fn new(
        function_name: impl Into<Arc<str>>,
        write: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            function_name: function_name.into(),
            write: Arc::new(write),
        }
    }

    /// Standard output, for the function that Lambda's variable names.
    pub fn to_stdout(variables: &Variables) -> Self {
        let function_name = variables.optional("AWS_LAMBDA_FUNCTION_NAME");
        let function_name = function_name.unwrap_or_else(|| "local".to_owned());
        Self::new(function_name, |line| {
            // In one write, so that the lines of concurrent requests stay whole. Without a reader
            // there is nowhere to say that it failed.
            let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
        })
    }

    pub fn write<M: Serialize>(&self, line: &LogLine<M>) {
        let written = WrittenLine {
            timestamp: line.at,
            level: line.level,
            members: &line.members,
            metrics: self.written_metrics(line),
        };
        let text = serde_json::to_string(&written)
            .expect("texts, numbers and maps of them always serialize");
        (self.write)(&text);
    }

    fn written_metrics<'a, M>(&'a self, line: &'a LogLine<M>) -> Option<WrittenMetrics<'a>> {
        if line.metrics.is_empty() {
            return None;
        }
        let mut dimensions = vec![FUNCTION];
        dimensions.extend(line.dimension.map(|dimension| dimension.name));
        let definitions = line.metrics.names().map(|name| MetricDefinition { name });
        let directive = MetricDirective {
            namespace: NAMESPACE,
            dimensions: [dimensions],
            metrics: definitions.collect(),
        };
        Some(WrittenMetrics {
            metrics: &line.metrics,
            function_name: &self.function_name,
            dimension: line.dimension,
            metadata: Metadata {
                timestamp: line.at.millis(),
                directives: [directive],
            },
        })
    }
}
