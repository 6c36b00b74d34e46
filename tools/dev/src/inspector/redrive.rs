//! The redrive of a rejected signal, by the command of the operator. Must not know what the command
//! does.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use model::account::AccountId;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use super::accounts::ensure_known_account;
use super::query::{AccountQuery, Parameters};
use super::response::{Answered, ApiError, json_text_response};
use super::{Shared, read_body};
use crate::programs::operator::OperatorProgram;

/// Runs `intake rejected redrive`. The program is built at its first use.
pub(crate) struct Redrive {
    operator: OperatorProgram,
    built: OnceCell<()>,
}

pub(super) async fn redrive(
    State(inspector): Shared,
    Parameters(wanted): Parameters<AccountQuery>,
    body: Result<Bytes, BytesRejection>,
) -> Answered {
    let body = read_body(body)?;
    ensure_known_account(&inspector, Some(wanted.account.as_str()))?;
    let signal = String::from_utf8_lossy(&body);
    if signal.trim().is_empty() {
        let why = "The body must be a rejected signal, as GET /rejected lists it.";
        return Err(ApiError::bad_request(why));
    }
    let redriven = inspector.redrive.run(&wanted.account, &signal).await?;
    Ok(json_text_response(redriven))
}

impl Redrive {
    pub(crate) fn new(operator: OperatorProgram) -> Self {
        Self {
            operator,
            built: OnceCell::new(),
        }
    }

    /// Processes a rejected signal again, and returns what the command printed. `signal` is an
    /// entry of the list of rejected signals, maybe with another payload.
    async fn run(&self, account: &AccountId, signal: &str) -> Result<String> {
        self.built.get_or_try_init(|| self.operator.build()).await?;
        let cannot_write = "Cannot write a temporary file";
        let mut file = NamedTempFile::new().context(cannot_write)?;
        // The command reads a signal from each line. No string of JSON has a line break.
        let line = signal.replace(['\n', '\r'], " ");
        writeln!(file, "{line}").context(cannot_write)?;
        let mut command = self.operator.command(&[
            "--json",
            "rejected",
            "redrive",
            "--account",
            account.as_str(),
        ]);
        command.args([OsStr::new("--from"), file.path().as_os_str()]);
        let output = command
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("Cannot start intake")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
