//! Ctrl-C as the regular end of a command, or as a reason to clean up.

use anyhow::{Context as _, Result};

/// The result of `work`; `None` when the operator pressed Ctrl-C first, which drops `work`.
pub(crate) async fn until_ctrl_c<T>(work: impl Future<Output = Result<T>>) -> Result<Option<T>> {
    tokio::select! {
        result = work => result.map(Some),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("Cannot wait for Ctrl-C").map(|()| None),
    }
}
