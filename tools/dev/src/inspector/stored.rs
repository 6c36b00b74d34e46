//! What is stored, as the operator's command line shows it. Must not know tables and items.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use emulator::development_key::ACCOUNT_ID;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use crate::operator::Operator;

/// The command line, which is built at its first use.
pub(crate) struct Stored {
    operator: Operator,
    built: OnceCell<()>,
}

impl Stored {
    pub(crate) fn new(operator: Operator) -> Self {
        Self { operator, built: OnceCell::new() }
    }

    /// The profile and the newest signals of a customer, or the signals of an emitter.
    pub(crate) async fn customer(&self, id: &str) -> Result<String> {
        // An id may begin with a hyphen.
        let of = [OsStr::new("--"), OsStr::new(id)];
        // An emitter has no profile.
        let profile = self.run(["customers", "show"], &of).await.unwrap_or_default();
        let signals = self.run(["signals", "list"], &of).await?;
        let profile = if profile.trim().is_empty() { "null" } else { profile.trim() };
        Ok(format!("{{\"profile\":{profile},\"signals\":{}}}", list(&signals)))
    }

    /// The rejected signals that are kept.
    pub(crate) async fn rejected(&self) -> Result<String> {
        Ok(list(&self.run(["rejected", "list"], &[]).await?))
    }

    /// Parses and stores a rejected signal again, as `signal` has it: an entry of the list, maybe with another payload.
    pub(crate) async fn redrive(&self, signal: &str) -> Result<String> {
        let mut file = NamedTempFile::new().context("Cannot write a temporary file")?;
        // The command reads a signal from each line. No string of JSON has a line break.
        writeln!(file, "{}", signal.replace(['\n', '\r'], " ")).context("Cannot write a temporary file")?;
        self.run(["rejected", "redrive"], &[OsStr::new("--from"), file.path().as_os_str()]).await
    }

    async fn run(&self, command: [&str; 2], arguments: &[&OsStr]) -> Result<String> {
        self.built.get_or_try_init(|| self.operator.build()).await?;
        let mut command = self.operator.command(&[&["--json"], &command[..], &["--account", ACCOUNT_ID]].concat());
        command.args(arguments);
        let output =
            command.stdin(Stdio::null()).kill_on_drop(true).output().await.context("Cannot start cargo intake")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The lines of a command with `--json` as a list.
fn list(lines: &str) -> String {
    format!("[{}]", lines.lines().collect::<Vec<_>>().join(","))
}
