//! What a person reads while the stack runs: a line for each request, and what else the functions
//! log. Must not know how requests reach the functions, or what their lines say.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::SystemTime;

use serde_json::{Map, Value};
use tokio::sync::mpsc;

const SECONDS_PER_DAY: u64 = 86_400;

/// Fields of a log line that a person does not need, or reads elsewhere in it.
const OMITTED_FIELDS: [&str; 7] = [
    "timestamp",
    "level",
    "message",
    "target",
    "FunctionName",
    "requestId",
    "_aws",
];

/// Writes the lines that functions log: for people, or as they are. What fails again and again, as
/// drains do while a table fails, is one line until the next request.
pub(crate) async fn show(mut lines: mpsc::UnboundedReceiver<String>, is_raw: bool) {
    let mut written = HashSet::new();
    while let Some(line) = lines.recv().await {
        if is_raw {
            raw(&line);
            continue;
        }
        match LogLine::parse(&line) {
            LogLine::Readable(text) => {
                if !text.starts_with("ERROR") || written.insert(text.clone()) {
                    write(&text);
                }
            }
            LogLine::Request => written.clear(),
            LogLine::Metrics => {}
        }
    }
}

/// Where the functions' own events go.
#[derive(Clone)]
pub(crate) struct EventWriter(pub(crate) mpsc::UnboundedSender<String>);

impl io::Write for EventWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(event).trim_end().to_owned();
        // Nothing reads them at the end.
        let _ = self.0.send(line);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
enum LogLine {
    /// Of a function, as text.
    Readable(String),
    /// For metrics only.
    Metrics,
    /// Of a request, whose line the gateway writes.
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
        match text("level") {
            Some(level) => {
                let mut line = format!("{level} {}", text("message").unwrap_or_default());
                for (name, value) in fields
                    .iter()
                    .filter(|(name, _)| !OMITTED_FIELDS.contains(&name.as_str()))
                {
                    let value = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    let _ = write!(line, "  {name}={value}");
                }
                Self::Readable(line)
            }
            None if text("message") == Some("drained") => {
                let count = |name| fields.get(name).and_then(Value::as_f64);
                let signals = count("SignalsDrained").map(|count| count.to_string());
                let what = match signals.as_deref() {
                    None => "a customer".to_owned(),
                    Some("1") => "1 signal".to_owned(),
                    Some(count) => format!("{count} signals"),
                };
                Self::Readable(format!(
                    "drained {what} after {:.1} s",
                    count("DrainDelay").unwrap_or_default() / 1e3
                ))
            }
            None => Self::Metrics,
        }
    }
}

/// Writes a line with the time, in UTC.
pub(crate) fn write(line: &str) {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
        % SECONDS_PER_DAY;
    raw(&format!(
        "{:02}:{:02}:{:02}Z  {line}",
        now / 3600,
        now / 60 % 60,
        now % 60
    ));
}

/// Whether what is written may have colours: on a terminal, unless its user says otherwise
/// (no-color.org).
pub(crate) fn has_colours() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a line as it is, but for marks that would show it in another order. A closed stdout is no
/// error.
fn raw(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", without_marks(line));
}

/// The text with bidirectional marks escaped: a client chooses what is in it.
fn without_marks(line: &str) -> String {
    let is_mark = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    line.chars()
        .fold(String::with_capacity(line.len()), |mut text, c| {
            if is_mark(c) {
                text.extend(c.escape_unicode());
            } else {
                text.push(c);
            }
            text
        })
}

#[cfg(test)]
mod tests {
    use super::{LogLine, without_marks};

    #[test]
    fn bidirectional_marks_are_escaped_and_other_text_is_not() {
        assert_eq!(
            without_marks("a\u{202e}b\u{2066}ü→\u{5d0}"),
            "a\\u{202e}b\\u{2066}ü→\u{5d0}"
        );
    }

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
