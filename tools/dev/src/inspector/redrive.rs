//! The redrive of a rejected signal, by the command of the operator. Must not know what the command
//! does.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use model::account::AccountId;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use super::Shared;
use super::accounts::unknown_account;
use super::query::AccountQuery;
use super::response::json_text_response;
use crate::programs::operator::OperatorProgram;

/// Runs `intake rejected redrive`. The program is built at its first use.
pub(crate) struct Redrive {
    operator: OperatorProgram,
    built: OnceCell<()>,
}

pub(super) async fn redrive(
    State(inspector): Shared,
    Query(wanted): Query<AccountQuery>,
    signal: String,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    if signal.trim().is_empty() {
        let why = "the body must be a rejected signal, as GET /rejected lists it";
        return (StatusCode::BAD_REQUEST, why).into_response();
    }
    json_text_response(inspector.redrive.run(&wanted.account, &signal).await)
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
