//! Children that cannot outlive `cargo dev`.
//!
//! Each child leads a session of its own, and whatever it starts stays in that session, also in a process group of
//! its own and also when its parent has died: so the session is what gets stopped. A terminal's Ctrl-C reaches only
//! `cargo dev`, which then stops the sessions in order.

use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dev::Error;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, Signal, System};
use tokio::process::Command;

/// How long the leader may take to end its own children and itself.
const TIME_FOR_LEADER: Duration = Duration::from_secs(3);

/// How long whatever is left may take after being asked, and after being killed.
const TIME_FOR_REST: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A child with everything it starts. Dropping it ends them all, and waits until they have ended.
pub(crate) struct Session {
    leader: Box<dyn ChildWrapper>,
    id: Pid,
    system: System,
}

impl Session {
    /// Starts `command` without input.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(mut command: Command) -> Result<Self, Error> {
        command.stdin(Stdio::null());
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let cannot = |why: String| Error::new(format!("Cannot start {program}: {why}."));
        let system = System::new().map_err(|error| cannot(error.to_string()))?;
        let leader =
            CommandWrap::from(command).wrap(ProcessSession).spawn().map_err(|error| cannot(error.to_string()))?;
        let id = leader.id().ok_or_else(|| cannot("it has already ended".to_owned()))?;
        Ok(Self { leader, id: Pid::from_u32(id), system })
    }

    /// Waits until the leader ends by itself.
    ///
    /// # Errors
    /// The system cannot say.
    pub(crate) async fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.leader.wait().await.map_err(|error| Error::new(format!("Cannot wait for a process: {error}.")))
    }

    fn stop(&mut self) {
        let leader = self.id;
        self.signal(Signal::Term, |process| process == leader);
        self.wait_until(TIME_FOR_LEADER, |session| !session.leader_runs());
        for signal in [Signal::Term, Signal::Kill] {
            if self.signal(signal, |_| true) == 0 {
                return;
            }
            self.wait_until(TIME_FOR_REST, |session| !session.leader_runs() && session.members().next().is_none());
        }
    }

    /// Whether the leader has not ended yet. Reaps it if it has.
    fn leader_runs(&mut self) -> bool {
        matches!(self.leader.try_wait(), Ok(None))
    }

    /// Sends `signal` to the members that are `chosen`; tells how many there were.
    fn signal(&mut self, signal: Signal, chosen: impl Fn(Pid) -> bool) -> usize {
        let members = self.members().filter(|process| chosen(process.pid()));
        members.map(|process| process.kill_with(signal)).count()
    }

    /// The session's processes that run now.
    fn members(&mut self) -> impl Iterator<Item = &sysinfo::Process> {
        let id = self.id;
        let what = ProcessRefreshKind::nothing().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        self.system
            .processes()
            .values()
            .filter(move |process| process.session_id() == Some(id) && process.status() != ProcessStatus::Zombie)
    }

    fn wait_until(&mut self, patience: Duration, mut reached: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !reached(self) && start.elapsed() < patience {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs `command` to its end and tells whether it succeeded.
///
/// # Errors
/// The program cannot be started.
pub(crate) async fn succeeds(command: Command) -> Result<bool, Error> {
    Session::start(command)?.wait().await.map(|status| status.success())
}
