//! Reads what the functions log. Finds the lines that contain a secret, and counts those that
//! say that rejected signals were not kept, which no response tells.

use tokio::sync::mpsc;

/// What the functions logged.
#[derive(Debug, Default)]
pub(super) struct LogCheck {
    /// The lines that contain a secret.
    pub(super) leaks: Vec<String>,
    /// The lines that say that rejected signals could not be kept.
    pub(super) unkept: u64,
}

impl LogCheck {
    /// Reads every line until no process is left to write one.
    pub(super) async fn run(
        mut log: mpsc::UnboundedReceiver<String>,
        secrets: Vec<String>,
    ) -> Self {
        let mut check = Self::default();
        while let Some(line) = log.recv().await {
            if line.contains("RejectedNotStored") {
                check.unkept += 1;
            }
            if secrets.iter().any(|secret| line.contains(secret)) {
                check.leaks.push(line);
            }
        }
        check
    }
}
