//! Ctrl-C or SIGTERM as the regular end of a command, or as a reason to clean up. Must not know
//! what the command does.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Does `work`. Returns `None` when the operator pressed Ctrl-C first, or a pipeline sent SIGTERM:
/// then `work` is dropped. After this call, neither signal ends the process any more.
pub(crate) async fn until_interrupted<T>(
    work: impl Future<Output = Result<T>>,
) -> Result<Option<T>> {
    let mut ctrl_c = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    tokio::select! {
        result = work => result.map(Some),
        _ = ctrl_c.recv() => Ok(None),
        _ = terminate.recv() => Ok(None),
    }
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("Cannot listen for Ctrl-C and SIGTERM")
}
