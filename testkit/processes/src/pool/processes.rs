//! The running processes of one function, and which of them gets the next event. This module must
//! not know how a process is started, nor what becomes of an event.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::function_process::ProcessOptions;
use crate::runtime_api::EventQueue;

/// The processes by their numbers.
#[derive(Default)]
pub(super) struct Processes(BTreeMap<u64, PooledProcess>);

/// A process. It is killed when this is dropped, unless it was asked to end before.
pub(super) struct PooledProcess {
    pub(super) options: ProcessOptions,
    /// Reports the end of the process, and nothing before it.
    pub(super) exit_notice: watch::Receiver<()>,
    /// Events that it serves now.
    pub(super) event_count: u16,
    /// Events that it may still be given.
    pub(super) left: u64,
    /// Asks the process to end; the value is how long it may take for that.
    pub(super) end_request: oneshot::Sender<Duration>,
}

/// A process that was chosen for an event.
pub(super) struct ChosenProcess {
    pub(super) number: u64,
    pub(super) events: EventQueue,
    pub(super) exit_notice: watch::Receiver<()>,
    pub(super) timeout: Duration,
}

impl Processes {
    pub(super) fn insert(&mut self, number: u64, process: PooledProcess) {
        self.0.insert(number, process);
    }

    /// Takes a process out. It is killed unless the caller keeps it.
    pub(super) fn remove(&mut self, number: u64) -> Option<PooledProcess> {
        self.0.remove(&number)
    }

    /// Asks all processes to end, and to do so within `grace`.
    pub(super) fn end_all(self, grace: Duration) {
        for process in self.0.into_values() {
            // The process may have ended by itself.
            let _ = process.end_request.send(grace);
        }
    }

    /// Chooses a process that can serve one more event, and counts the event as given to it.
    pub(super) fn choose(&mut self) -> Option<ChosenProcess> {
        let (number, process) = self
            .0
            .iter_mut()
            .find(|(_, process)| process.can_take_an_event())?;
        process.event_count += 1;
        process.left -= 1;
        Some(process.chosen(*number))
    }

    /// Counts an event as served by this process, and removes a process that has served its last.
    pub(super) fn release(&mut self, number: u64) {
        let Some(process) = self.0.get_mut(&number) else {
            return;
        };
        process.event_count -= 1;
        if process.is_done() {
            self.0.remove(&number);
        }
    }

    /// Kills a process chosen at random, one that serves an event if there is one. Returns whether
    /// there was a process to kill.
    pub(super) fn kill_one(&mut self, random: &mut fastrand::Rng) -> bool {
        let busy: Vec<u64> = self
            .0
            .iter()
            .filter(|(_, process)| process.event_count > 0)
            .map(|(number, _)| *number)
            .collect();
        let candidates = if busy.is_empty() {
            self.0.keys().copied().collect()
        } else {
            busy
        };
        let Some(number) = random.choice(candidates) else {
            return false;
        };
        self.0.remove(&number).is_some()
    }
}

impl PooledProcess {
    fn can_take_an_event(&self) -> bool {
        let concurrency = self.options.concurrency.unwrap_or(1);
        self.left > 0 && self.event_count < concurrency
    }

    /// Whether the process serves nothing now and gets no further event.
    fn is_done(&self) -> bool {
        self.left == 0 && self.event_count == 0
    }

    pub(super) fn chosen(&self, number: u64) -> ChosenProcess {
        ChosenProcess {
            number,
            events: self.options.events.clone(),
            exit_notice: self.exit_notice.clone(),
            timeout: self.options.invocation_timeout,
        }
    }

    pub(super) fn into_program(self) -> PathBuf {
        self.options.program
    }
}
