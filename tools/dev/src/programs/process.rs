//! Runs commands that cannot outlive `cargo dev`, nor can the processes that they start. Must not
//! know what a command does.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Runs a command to its end, and returns whether it succeeded. The command has no input, and a
/// Ctrl-C in the terminal does not reach it. If the future is dropped before the end, the command's
/// process group gets a SIGTERM.
///
/// # Errors
/// The program cannot be started.
pub(crate) async fn run(mut command: Command) -> Result<bool> {
    let cannot_start = format!("Cannot start {}", command.as_std().get_program().display());
    command.stdin(Stdio::null()).process_group(0);
    let mut group = ProcessGroup(command.spawn().context(cannot_start)?);
    let ended = group.0.wait().await;
    let exit = ended.context("Cannot wait for a process")?;
    Ok(exit.success())
}

/// A child process and the processes that it has started, except those with a group of their own.
struct ProcessGroup(Child);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // A child that has ended and was waited for has no id.
        let id = self
            .0
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(id) = id {
            // The group may have ended in the meantime.
            let _ = kill_process_group(id, Signal::TERM);
        }
    }
}
