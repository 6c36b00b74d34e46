//! A function that runs in as many processes as its events need, as on Lambda: an idle process
//! serves an event, or else a new one is started. A process is replaced after some events.

mod options;
mod processes;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Error, Result};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

pub use self::options::{PoolOptions, ProcessFailure};
use self::processes::{ChosenProcess, PooledProcess, Processes};
use crate::function_process::{FunctionProcess, ProcessOptions};
use crate::runtime_api::{Event, Invocation};

/// How long a process may take to start, on a busy machine. Lambda gives it 10 s.
const INIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A function in its processes. They run until [`Pool::end`], or as long as the runtime.
pub struct Pool {
    options: PoolOptions,
    state: Mutex<PoolState>,
    serve_task: OnceLock<AbortHandle>,
    /// The task that serves, and one for each process.
    tasks: Mutex<JoinSet<()>>,
}

struct PoolState {
    has_ended: bool,
    random: fastrand::Rng,
    processes: Processes,
    counts: ProcessCounts,
}

/// What a pool counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCounts {
    /// Processes that were started.
    pub started: u64,
    /// Processes that ended by themselves.
    pub ended: u64,
    /// Invocations that ended in an error or at their timeout.
    pub errors: u64,
}

/// A process that no event can be given to yet.
struct NewProcess {
    number: u64,
    options: ProcessOptions,
    process: FunctionProcess,
}

/// A process could not be started.
struct StartError {
    program: PathBuf,
    cause: Error,
}

impl Pool {
    /// Serves the events of these options from here on, on the runtime that this is called in.
    pub fn start(options: PoolOptions) -> Arc<Self> {
        let state = PoolState {
            has_ended: false,
            random: fastrand::Rng::with_seed(options.seed),
            processes: Processes::default(),
            counts: ProcessCounts::default(),
        };
        let pool = Arc::new(Self {
            options,
            state: Mutex::new(state),
            serve_task: OnceLock::new(),
            tasks: Mutex::default(),
        });
        let serve_all = Arc::clone(&pool).serve_all();
        let serve_task = pool.tasks().spawn(serve_all);
        pool.serve_task.get_or_init(|| serve_task);
        pool
    }

    /// Serves events as they come.
    async fn serve_all(self: Arc<Self>) {
        let mut event_tasks = JoinSet::new();
        loop {
            let Some(event) = self.options.events.next().await else {
                return;
            };
            // The set keeps each task that has ended until it is joined.
            while event_tasks.try_join_next().is_some() {}
            event_tasks.spawn(Arc::clone(&self).serve(event));
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> ProcessCounts {
        self.state().counts
    }

    /// Kills a process, wherever it is in its work: one that serves an event if there is one. What
    /// it has sent may still be on its way. Returns whether there was a process to kill.
    pub fn kill(&self, random: &mut fastrand::Rng) -> bool {
        self.state().processes.kill_one(random)
    }

    /// Asks all processes to end, kills those that have not after `grace`, and returns when they
    /// have. Serves no event any more.
    pub async fn end(&self, grace: Duration) {
        if let Some(serve_task) = self.serve_task.get() {
            serve_task.abort();
        }
        let processes = {
            let mut state = self.state();
            state.has_ended = true;
            std::mem::take(&mut state.processes)
        };
        processes.end_all(grace);
        let mut tasks = std::mem::take(&mut *self.tasks());
        while tasks.join_next().await.is_some() {}
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves an event. Without a response, its caller learns that there is none.
    async fn serve(self: Arc<Self>, event: Event) {
        let idle = self.state().processes.choose();
        let chosen = match idle {
            Some(chosen) => chosen,
            None => match self.start_process().await {
                Ok(new) => self.let_serve(new),
                Err(error) => {
                    let failure = ProcessFailure::NotStarted(error.cause);
                    return (self.options.report)(&error.program, &failure);
                }
            },
        };
        let ChosenProcess {
            number,
            events,
            mut exit_notice,
            timeout,
        } = chosen;
        let invocation = tokio::select! {
            biased;
            invocation = events.invoke(event.body) => invocation,
            // Nothing is ever sent, so this is the end of the process.
            _ = exit_notice.changed() => None,
            () = sleep(INIT_TIMEOUT + timeout) => {
                self.kill_for_timeout(number);
                None
            }
        };
        self.state().processes.release(number);
        if let Some(invocation) = invocation {
            let invocation = Invocation {
                process_number: Some(number),
                ..invocation
            };
            // The caller may have given up.
            let _ = event.invocation.send(invocation);
        }
    }

    fn kill_for_timeout(&self, number: u64) {
        let mut state = self.state();
        state.counts.errors += 1;
        state.processes.remove(number);
    }

    async fn start_process(&self) -> Result<NewProcess, StartError> {
        let number = self.count_start();
        let options = ProcessOptions {
            events: self.options.events.for_one_process(),
            ..(self.options.process)(number)
        };
        match FunctionProcess::start(&options).await {
            Ok(process) => Ok(NewProcess {
                number,
                options,
                process,
            }),
            Err(cause) => Err(StartError {
                program: options.program,
                cause,
            }),
        }
    }

    /// Counts a process that is about to start, and returns its number.
    fn count_start(&self) -> u64 {
        let counts = &mut self.state().counts;
        let number = counts.started;
        counts.started += 1;
        number
    }

    /// Lets a new process serve its first event, and waits for its end in a task.
    fn let_serve(self: &Arc<Self>, new: NewProcess) -> ChosenProcess {
        let (end_request, end_requested) = oneshot::channel();
        let (exit_sender, exit_notice) = watch::channel(());
        let waiting =
            Arc::clone(self).wait_for_end(new.number, new.process, end_requested, exit_sender);
        self.tasks().spawn(waiting);
        let mut state = self.state();
        let lifetime = state.random.u64(self.options.lifetime.clone());
        let process = PooledProcess {
            options: new.options,
            exit_notice,
            event_count: 1,
            left: lifetime.saturating_sub(1),
            end_request,
        };
        let chosen = process.chosen(new.number);
        // When the pool has ended, the process is dropped here, and so it is killed.
        if !state.has_ended {
            state.processes.insert(new.number, process);
        }
        chosen
    }

    /// Waits for the end of a process: it is asked to end, it is killed, or it ends by itself. Then
    /// drops `exit_sender`, which tells those that wait for a response.
    async fn wait_for_end(
        self: Arc<Self>,
        number: u64,
        mut process: FunctionProcess,
        end_requested: oneshot::Receiver<Duration>,
        exit_sender: watch::Sender<()>,
    ) {
        // An error below says that the process has ended already.
        tokio::select! {
            grace = end_requested => {
                let _ = match grace {
                    Ok(grace) => process.end(grace).await,
                    Err(_) => process.kill().await,
                };
            }
            status = process.ended() => self.report_end(number, status.ok()),
        }
        self.state().counts.errors += process.invocation_errors();
        drop(exit_sender);
    }

    /// Reports a process that ended by itself.
    fn report_end(&self, number: u64, status: Option<ExitStatus>) {
        let process = {
            let mut state = self.state();
            state.counts.ended += 1;
            state.processes.remove(number)
        };
        if let (Some(process), Some(status)) = (process, status) {
            (self.options.report)(&process.into_program(), &ProcessFailure::Ended(status));
        }
    }
}
