//! Ctrl-C or SIGTERM as the regular end of a command, or as a reason to clean up.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The result of `work`; `None` when the operator pressed Ctrl-C first, or a pipeline sent SIGTERM:
/// that drops `work`. From then on, neither ends the process.
pub(crate) async fn until_interrupted<T>(
    work: impl Future<Output = Result<T>>,
) -> Result<Option<T>> {
    let (mut ctrl_c, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    tokio::select! {
        result = work => result.map(Some),
        _ = ctrl_c.recv() => Ok(None),
        _ = terminate.recv() => Ok(None),
    }
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("Cannot listen for Ctrl-C and SIGTERM")
}
