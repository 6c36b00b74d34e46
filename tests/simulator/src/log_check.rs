//! Reads what the functions log: no line may have a key or a value of a client, every warning and
//! error is one that an outage explains, and some lines say what no response tells.

use std::io;
use std::sync::Arc;

use consistency::generated::CANARY;
use model::api_key::KEY_PREFIX;
use serde_json::Value;
use service::telemetry;
use service::telemetry::log::Log;
use tokio::task_local;
use tracing::subscriber::DefaultGuard;

use crate::aws::Aws;
use crate::promises::Promise;

/// The warnings and errors that an outage, or a killed environment, explains.
const EXPECTED: [&str; 7] = [
    "rejected signals could not be stored",
    "a message could not be drained; it will be delivered again",
    "the overflow queue did not accept the signals of a batch",
    "the overflow queue did not accept an update of a customer",
    "the key table could not be read at the start",
    "the key snapshot could not be read",
    // Of the SDK: the simulated connector has no connections.
    "unable to mark the connection for closure because no connection was found! The underlying HTTP connector never set a connection.",
];

/// Reasons that no outage explains.
const UNEXPECTED_REASONS: [&str; 4] = ["Corrupt", "Invalid", "Panic", "ValidationException"];

task_local! {
    /// The name of the environment whose invocation writes to the log.
    pub(crate) static WRITER: Arc<str>;
}

/// The log of an environment.
pub fn log(aws: Aws) -> Log {
    Log::new("simulated", move |line| check(&aws, line))
}

/// Reads what the functions write with `tracing`, until it is dropped.
pub fn read_events(aws: Aws) -> DefaultGuard {
    let functions = ["customers", "signals", "overflow"];
    let writer = move || LineReader(aws.clone());
    tracing::subscriber::set_default(telemetry::subscriber(&functions, writer))
}

/// Gets each event as a line.
struct LineReader(Aws);

impl io::Write for LineReader {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        check(&self.0, &String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(aws: &Aws, line: &str) {
    let state = &mut *aws.state();
    if line.contains("RejectedNotStored") {
        state.unkept += 1;
    }
    if let Some(broken) = broken_by(line) {
        let text = format!("{broken}: {line}");
        let writer = WRITER.try_with(ToString::to_string);
        // A task beside the invocations, such as one that reads the key snapshot, has no name.
        let about = writer.unwrap_or_default();
        state.promises.note(Promise::Log, text, about);
    }
}

/// What is wrong with a line, if anything is.
fn broken_by(line: &str) -> Option<&'static str> {
    if line.contains(CANARY) || line.contains(KEY_PREFIX) {
        return Some("a key or a value is logged");
    }
    let Ok(members) = serde_json::from_str::<Value>(line) else {
        return Some("a line of the log is not JSON");
    };
    let is_warning = ["WARN", "ERROR"].contains(&members["level"].as_str().unwrap_or_default());
    let is_expected = EXPECTED.contains(&members["message"].as_str().unwrap_or_default())
        && !UNEXPECTED_REASONS
            .iter()
            .any(|reason| line.contains(reason));
    (is_warning && !is_expected).then_some("a warning or an error that no outage explains")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_that_no_outage_explains_and_line_with_a_value_break_a_promise() {
        let with_key = format!(r#"{{"message":"request","key":"{KEY_PREFIX}1"}}"#);
        for line in [
            &with_key,
            r#"{"level":"ERROR","message":"panic"}"#,
            r#"{"level":"WARN","message":"the key snapshot could not be read","error":"Corrupt"}"#,
            r#"{"message":"request","customer":"canary-7e1d-1"}"#,
            "panicked",
        ] {
            assert!(broken_by(line).is_some(), "{line}");
        }
        for line in [
            r#"{"level":"WARN","message":"the key snapshot could not be read","error":"Timeout"}"#,
            r#"{"message":"request","status":503}"#,
        ] {
            assert_eq!(broken_by(line), None, "{line}");
        }
    }
}
