//! A command that cannot outlive `cargo dev`, with all processes that it starts. Must not know what
//! the command does.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Runs `command` to its end, without input and out of reach of the terminal's Ctrl-C, and returns
/// whether it succeeded. When this is dropped before, its process group is asked to end.
///
/// # Errors
/// The program cannot be started.
pub(crate) async fn succeeds(mut command: Command) -> Result<bool> {
    let cannot_start = format!("Cannot start {}", command.as_std().get_program().display());
    command.stdin(Stdio::null()).process_group(0);
    let mut group = ProcessGroup(command.spawn().context(cannot_start)?);
    let ended = group.0.wait().await;
    let exit = ended.context("Cannot wait for a process")?;
    Ok(exit.success())
}

/// A child and what it has started, unless that has a group of its own.
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
