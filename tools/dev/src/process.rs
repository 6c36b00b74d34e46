//! Children that cannot outlive `cargo dev`.
//!
//! Process groups and sessions do not hold them together: cargo-lambda gives each function a session of its own, and a
//! parent that dies leaves its children to init. The environment does, since each process hands it on to those it
//! starts: a child gets a tag in it, and every process with the tag is ended with it. Must not know what a child does.

use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, Signal, System, UpdateKind};
use tokio::process::{Child, ChildStdout, Command};

/// The variable that holds the tag.
const PROCESS_TAG: &str = "INTAKE_DEV_CHILD";

/// How long they may take after being asked to end.
const CHILD_TIMEOUT: Duration = Duration::from_secs(3);

/// How long whatever is left may take after being killed.
const REST_TIMEOUT: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A child and everything below it. Dropping it ends them all, and waits until they have ended.
pub(crate) struct ProcessTree {
    root: Child,
    root_id: Pid,
    tag: String,
    system: System,
}

impl ProcessTree {
    /// Starts `command`, without input and out of reach of the terminal's Ctrl-C: what is below `cargo dev` ends in
    /// order, and by `cargo dev`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let cannot_start = || format!("Cannot start {program}");
        let tag = unique_tag();
        let system = System::new().with_context(cannot_start)?;
        let root =
            command.stdin(Stdio::null()).env(PROCESS_TAG, &tag).process_group(0).spawn().with_context(cannot_start)?;
        let root_id = root.id().map(Pid::from_u32).context("it has already ended").with_context(cannot_start)?;
        Ok(Self { root, root_id, tag, system })
    }

    /// The child's standard output, if it is a pipe and has not been taken.
    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.root.stdout.take()
    }

    /// Waits until the child ends by itself.
    ///
    /// # Errors
    /// When the operating system does not report it.
    pub(crate) async fn wait(&mut self) -> Result<ExitStatus> {
        self.root.wait().await.context("Cannot wait for a process")
    }

    fn stop(&mut self) {
        for (signal, timeout) in [(Signal::Term, CHILD_TIMEOUT), (Signal::Kill, REST_TIMEOUT)] {
            self.signal(signal);
            if self.ended_within(timeout) {
                return;
            }
        }
    }

    /// Whether the child has not ended yet. Reaps it if it has.
    fn root_runs(&mut self) -> bool {
        matches!(self.root.try_wait(), Ok(None))
    }

    /// Sends `signal` to every member, and first to the child, which otherwise may report that another has ended. All in one go:
    /// a function that still runs when cargo-lambda has ended prints an error.
    fn signal(&mut self, signal: Signal) {
        let root = self.root_id;
        let mut members: Vec<_> = self.members().collect();
        members.sort_by_key(|process| process.pid() != root);
        for process in members {
            process.kill_with(signal);
        }
    }

    /// The child, if it runs, and the processes that have the tag and run. The child needs no tag: a process that the
    /// system replaces at this moment (`exec`) shows no environment.
    fn members(&mut self) -> impl Iterator<Item = &sysinfo::Process> {
        let root = self.root_runs().then_some(self.root_id);
        let what = ProcessRefreshKind::nothing().without_tasks().with_environ(UpdateKind::Always);
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        let variable = format!("{PROCESS_TAG}={}", self.tag);
        self.system.processes().values().filter(move |process| {
            process.status() != ProcessStatus::Zombie
                && (Some(process.pid()) == root || process.environ().iter().any(|found| *found == *variable))
        })
    }

    fn ended_within(&mut self, timeout: Duration) -> bool {
        let start = Instant::now();
        loop {
            if !self.root_runs() && self.members().next().is_none() {
                return true;
            }
            if start.elapsed() >= timeout {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.stop();
    }
}

/// No other child of this or of another `cargo dev` has it.
fn unique_tag() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Runs `command` to its end and returns whether it succeeded.
///
/// # Errors
/// The program cannot be started.
pub(crate) async fn succeeds(command: Command) -> Result<bool> {
    ProcessTree::start(command)?.wait().await.map(|status| status.success())
}
