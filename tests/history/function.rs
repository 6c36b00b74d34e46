//! The processes of one function: a few at once, which share its events. Each is killed after a while,
//! wherever it is in its work, and replaced. This module must not know what is in an event.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use processes::function_process::{FunctionProcess, ProcessOptions};
use processes::process_clock::ProcessClock;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::deployment::ahead;

/// Processes at once.
const PROCESSES: usize = 3;

/// How long after its start a process is killed, in milliseconds.
const LIFETIME: Range<u64> = 1_000..6_000;

/// Events that every second process serves at once.
const AT_ONCE: u16 = 4;

/// The processes of a function, until they end or this is dropped.
pub(super) struct Processes {
    tasks: JoinSet<()>,
    counts: Arc<Counts>,
}

/// What processes count.
#[derive(Debug, Default)]
pub(super) struct Counts {
    started: AtomicU64,
    /// Processes that were killed.
    pub(super) killed: AtomicU64,
    /// Processes that ended by themselves.
    pub(super) ended: AtomicU64,
}

impl Processes {
    /// Starts processes with these options, each with a clock of its own.
    pub(super) fn start(options: &ProcessOptions, clock: &Arc<ProcessClock>) -> Self {
        let counts = Arc::new(Counts::default());
        let mut tasks = JoinSet::new();
        for _ in 0..PROCESSES {
            tasks.spawn(replace(options.clone(), clock.clone(), counts.clone()));
        }
        Self { tasks, counts }
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Kills all processes.
    pub(super) async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}

/// Runs one process after another.
async fn replace(options: ProcessOptions, clock: Arc<ProcessClock>, counts: Arc<Counts>) {
    let add = |count: &AtomicU64, more| count.fetch_add(more, Ordering::Relaxed);
    loop {
        let number = add(&counts.started, 1);
        let mut options = ProcessOptions {
            number,
            concurrency: Some(if number.is_multiple_of(2) { 1 } else { AT_ONCE }),
            ..options.clone()
        };
        options.variables.extend(clock.ahead(ahead(number)));
        let process = FunctionProcess::start(&options).await;
        let mut process = process.expect("a program that was built starts");
        let lifetime = Duration::from_millis(fastrand::u64(LIFETIME));
        if timeout(lifetime, process.ended()).await.is_ok() {
            add(&counts.ended, 1);
        } else {
            process.kill().await.expect("the process runs");
            add(&counts.killed, 1);
        }
    }
}
