//! Looks for secrets in what the functions log, and for failures that only the log tells. Must not know what a line says
//! otherwise.

use model::timestamp::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;

/// What the functions logged.
#[derive(Debug, Default)]
pub(super) struct LogCheck {
    /// How many lines.
    pub(super) lines: u64,
    /// The lines that contain a secret.
    pub(super) leaks: Vec<String>,
    /// The lines that say that rejected signals could not be kept.
    pub(super) unkept: u64,
    /// When the requests with signals arrived whose key was valid and whose response was a 503.
    pub(super) unavailable: Vec<Timestamp>,
}

impl LogCheck {
    /// Reads every line until no process is left to write one.
    pub(super) async fn run(mut log: mpsc::UnboundedReceiver<String>, secrets: Vec<String>) -> Self {
        let mut check = Self::default();
        while let Some(line) = log.recv().await {
            check.lines += 1;
            if line.contains("RejectedNotStored") {
                check.unkept += 1;
            }
            check.unavailable.extend(unavailable_at(&line));
            if secrets.iter().any(|secret| line.contains(secret)) {
                check.leaks.push(line);
            }
        }
        check
    }
}

/// The time of a request with signals, if the line is of one that was answered 503 after its key was found valid.
fn unavailable_at(line: &str) -> Option<Timestamp> {
    if !line.contains("\"status\":503") {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    let is_authenticated = line["keyId"].is_string() && line["path"] == "/api/event-flows/signal";
    is_authenticated.then(|| line["timestamp"].as_str()?.parse().ok())?
}
