//! Writes what the functions log to standard output, for a person or for a program. Must not know
//! how requests reach the functions.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{print, print_with_time};

/// Fields of a log line that are not written for people: they do not need them, or read them
/// elsewhere in the line.
const OMITTED_FIELDS: [&str; 7] = [
    "timestamp",
    "level",
    "message",
    "target",
    "FunctionName",
    "requestId",
    "_aws",
];

/// Writes the lines that functions log, for people, or as they are if `is_raw`. An error that
/// repeats, as when drains fail because a table does, is written once until the next request.
pub(crate) async fn show(mut lines: mpsc::UnboundedReceiver<String>, is_raw: bool) {
    let mut written = HashSet::new();
    while let Some(line) = lines.recv().await {
        if is_raw {
            print(&line);
            continue;
        }
        match LogLine::parse(&line) {
            LogLine::Readable(text) => {
                if !text.starts_with("ERROR") || written.insert(text.clone()) {
                    print_with_time(&text);
                }
            }
            LogLine::Request => written.clear(),
            LogLine::Metrics => {}
        }
    }
}

/// Sends the functions' tracing events to the log.
#[derive(Clone)]
pub(crate) struct EventWriter(pub(crate) mpsc::UnboundedSender<String>);

impl io::Write for EventWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(event).trim_end().to_owned();
        // While the stack ends, nothing receives these lines any more.
        let _ = self.0.send(line);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line of a function's log.
#[derive(Debug, PartialEq)]
enum LogLine {
    /// A message, as a person reads it.
    Readable(String),
    /// The line has only metrics, and is not shown.
    Metrics,
    /// The line belongs to a request, for which the gateway prints a line of its own.
    Request,
}

impl LogLine {
    fn parse(line: &str) -> Self {
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else {
            return Self::Readable(line.to_owned());
        };
        let text = |name| fields.get(name).and_then(Value::as_str);
        if fields.contains_key("status") {
            return Self::Request;
        }
        if let Some(level) = text("level") {
            return Self::Readable(message_with_fields(level, &fields));
        }
        if text("message") == Some("drained") {
            return Self::Readable(drained(&fields));
        }
        Self::Metrics
    }
}

/// The message of a line with a level, followed by its other fields.
fn message_with_fields(level: &str, fields: &Map<String, Value>) -> String {
    let message = fields.get("message").and_then(Value::as_str);
    let mut line = format!("{level} {}", message.unwrap_or_default());
    for (name, value) in fields {
        if OMITTED_FIELDS.contains(&name.as_str()) {
            continue;
        }
        let _ = match value.as_str() {
            Some(text) => write!(line, "  {name}={text}"),
            None => write!(line, "  {name}={value}"),
        };
    }
    line
}

/// The sentence for a message of the overflow queue that the function has drained.
fn drained(fields: &Map<String, Value>) -> String {
    let number = |name| fields.get(name).and_then(Value::as_f64);
    let signals = number("SignalsDrained").map(|count| count.to_string());
    let what = match signals.as_deref() {
        None => "a customer".to_owned(),
        Some("1") => "1 signal".to_owned(),
        Some(count) => format!("{count} signals"),
    };
    let delay_seconds = number("DrainDelay").unwrap_or_default() / 1e3;
    format!("drained {what} after {delay_seconds:.1} s")
}

#[cfg(test)]
mod tests {
    use super::LogLine;

    #[test]
    fn line_of_a_function_is_readable_without_its_metrics() {
        let readable = |text: &str| LogLine::Readable(text.to_owned());
        for (line, expected) in [
            (
                r#"{"level":"ERROR","message":"not stored","timestamp":"t","n":1,"requestId":"r","FunctionName":"f","_aws":{}}"#,
                readable("ERROR not stored  n=1"),
            ),
            (
                r#"{"timestamp":"t","level":"ERROR","message":"panic","location":"a.rs:1:2","target":"service"}"#,
                readable("ERROR panic  location=a.rs:1:2"),
            ),
            (
                r#"{"timestamp":"t","requestId":"r","status":200,"accountId":"a","_aws":{}}"#,
                LogLine::Request,
            ),
            (
                r#"{"message":"drained","requestId":"r","SignalsDrained":3,"DrainDelay":8531.5,"_aws":{}}"#,
                readable("drained 3 signals after 8.5 s"),
            ),
            (
                r#"{"message":"drained","requestId":"r","SignalsDrained":1,"DrainDelay":100,"_aws":{}}"#,
                readable("drained 1 signal after 0.1 s"),
            ),
            (
                r#"{"message":"drained","requestId":"r","CustomersDrained":1,"DrainDelay":80,"_aws":{}}"#,
                readable("drained a customer after 0.1 s"),
            ),
            (
                r#"{"message":"rejected","requestId":"r","SignalsRejected":1,"_aws":{}}"#,
                LogLine::Metrics,
            ),
        ] {
            assert_eq!(LogLine::parse(line), expected, "{line}");
        }
    }
}
