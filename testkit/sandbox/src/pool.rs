//! The processes of a function, as Lambda has them: an idle one serves an event, or else a new one
//! is started; after some events it is replaced, and so is one whose program has changed. Must not
//! know what is in an event.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Error, Result};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::function_process::{FunctionProcess, ProcessOptions};
use crate::runtime_api::{Event, EventQueue, Invocation};

/// How long a process may take to start, on a busy machine. Lambda gives it 10 s.
const INIT_TIMEOUT: Duration = Duration::from_secs(20);

/// How the processes of a function are run.
pub struct PoolOptions {
    /// The events that the processes serve.
    pub events: EventQueue,
    /// The options of the process with this number, which counts from 0. The pool gives each
    /// process a queue of its own.
    pub process: Box<dyn Fn(u64) -> ProcessOptions + Send + Sync>,
    /// How many events are served at once; others wait.
    pub at_once: usize,
    /// How many events a process serves.
    pub lifetime: RangeInclusive<u64>,
    /// Chooses from `lifetime`.
    pub seed: u64,
    /// Gets the program and what is wrong with its process.
    pub report: fn(&Path, Failure),
}

/// Why a process does not serve.
#[derive(Debug)]
pub enum Failure {
    /// Its program cannot be started.
    NotStarted(Error),
    /// It has ended by itself.
    Ended(ExitStatus),
}

/// A function. Its processes run until [`Pool::end`], or as long as the runtime.
pub struct Pool {
    options: PoolOptions,
    state: Mutex<State>,
    serving: OnceLock<AbortHandle>,
    /// The task that serves, and one for each process.
    tasks: Mutex<JoinSet<()>>,
}

struct State {
    has_ended: bool,
    random: fastrand::Rng,
    processes: BTreeMap<u64, Process>,
    counts: ProcessCounts,
}

/// What a function counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCounts {
    /// Processes that were started.
    pub started: u64,
    /// Processes that ended by themselves.
    pub ended: u64,
    /// Invocations that ended in an error or at their timeout.
    pub errors: u64,
}

/// A process. It is killed when this is dropped, or asked to end before.
struct Process {
    options: ProcessOptions,
    /// When the program was changed before the start.
    program_time: Option<SystemTime>,
    alive: watch::Receiver<()>,
    serving: u16,
    /// Events that it may still be given.
    left: u64,
    /// Takes how long it may take to end.
    end: oneshot::Sender<Duration>,
}

impl Process {
    /// While the program is replaced there is no file for a moment: then the process serves on.
    fn is_outdated(&self) -> bool {
        let time = program_time(&self.options.program);
        time.is_some() && time != self.program_time
    }
}

/// A process that no event can be given to yet.
struct NewProcess {
    number: u64,
    options: ProcessOptions,
    program_time: Option<SystemTime>,
    process: FunctionProcess,
}

/// A process that was chosen for an event.
struct Chosen {
    number: u64,
    events: EventQueue,
    alive: watch::Receiver<()>,
    timeout: Duration,
}

impl Pool {
    /// Serves the events of these options from here on, on the runtime that this is called in.
    pub fn start(options: PoolOptions) -> Arc<Self> {
        let random = fastrand::Rng::with_seed(options.seed);
        let state = State {
            has_ended: false,
            random,
            processes: BTreeMap::new(),
            counts: ProcessCounts::default(),
        };
        let (state, serving) = (Mutex::new(state), OnceLock::new());
        let pool = Arc::new(Self {
            options,
            state,
            serving,
            tasks: Mutex::default(),
        });
        let of_task = Arc::clone(&pool);
        let serving = async move {
            let places = Arc::new(Semaphore::new(
                of_task.options.at_once.min(Semaphore::MAX_PERMITS),
            ));
            let mut serving = JoinSet::new();
            while let Ok(place) = Arc::clone(&places).acquire_owned().await
                && let Some(event) = of_task.options.events.next().await
            {
                while serving.try_join_next().is_some() {}
                let pool = Arc::clone(&of_task);
                serving.spawn(async move {
                    pool.serve(event).await;
                    drop(place);
                });
            }
        };
        let serving = pool.tasks().spawn(serving);
        pool.serving.get_or_init(|| serving);
        pool
    }

    /// Starts this many processes, one after the other, which then wait for events.
    ///
    /// # Errors
    /// When the program cannot be started, or ends.
    pub async fn prepare(self: &Arc<Self>, count: u64) -> Result<()> {
        for _ in 0..count {
            let new = self.new_process().await;
            let mut new = new.map_err(|(_, error)| error)?;
            new.process.idle().await?;
            self.keep(new, 0);
        }
        Ok(())
    }

    /// What was counted so far.
    pub fn counts(&self) -> ProcessCounts {
        self.state().counts
    }

    /// Kills a process wherever it is, one that serves if there is one. What it has sent may still
    /// be on its way.
    pub fn kill(&self, random: &mut fastrand::Rng) -> bool {
        let processes = &mut self.state().processes;
        let numbers = |is_busy: bool| {
            processes
                .iter()
                .filter(move |(_, process)| !is_busy || process.serving > 0)
        };
        let busy: Vec<u64> = numbers(true).map(|(number, _)| *number).collect();
        let any: Vec<u64> = numbers(false).map(|(number, _)| *number).collect();
        let number = random.choice(if busy.is_empty() { any } else { busy });
        number
            .and_then(|number| processes.remove(&number))
            .is_some()
    }

    /// Asks all processes to end, kills those that have not after `grace`, and returns when they
    /// have. Serves no event any more.
    pub async fn end(&self, grace: Duration) {
        if let Some(serving) = self.serving.get() {
            serving.abort();
        }
        let processes = {
            let mut state = self.state();
            state.has_ended = true;
            std::mem::take(&mut state.processes)
        };
        for process in processes.into_values() {
            // It may have ended by itself.
            let _ = process.end.send(grace);
        }
        let mut tasks = std::mem::take(&mut *self.tasks());
        while tasks.join_next().await.is_some() {}
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves an event. Without a response, its caller learns that there is none.
    async fn serve(self: Arc<Self>, event: Event) {
        let chosen = match self.idle_process() {
            Some(chosen) => chosen,
            None => match self.start_process().await {
                Ok(chosen) => chosen,
                Err((options, error)) => {
                    return (self.options.report)(&options.program, Failure::NotStarted(error));
                }
            },
        };
        let Chosen {
            number,
            events,
            mut alive,
            timeout,
        } = chosen;
        let invocation = tokio::select! {
            biased;
            invocation = events.invoke(event.body) => invocation,
            // Nothing is ever sent, so this is the end of the process.
            _ = alive.changed() => None,
            () = sleep(INIT_TIMEOUT + timeout) => {
                let mut state = self.state();
                state.counts.errors += 1;
                state.processes.remove(&number);
                None
            }
        };
        let processes = &mut self.state().processes;
        if let Some(process) = processes.get_mut(&number) {
            process.serving -= 1;
            if process.left == 0 && process.serving == 0 {
                processes.remove(&number);
            }
        }
        if let Some(invocation) = invocation {
            let invocation = Invocation {
                process: Some(number),
                ..invocation
            };
            // The caller may have given up.
            let _ = event.invocation.send(invocation);
        }
    }

    fn idle_process(&self) -> Option<Chosen> {
        let processes = &mut self.state().processes;
        for process in processes
            .values_mut()
            .filter(|process| process.is_outdated())
        {
            process.left = 0;
        }
        processes.retain(|_, process| process.left > 0 || process.serving > 0);
        let is_idle =
            |process: &Process| process.serving < process.options.concurrency.unwrap_or(1);
        let (number, process) = processes
            .iter_mut()
            .find(|(_, process)| is_idle(process) && process.left > 0)?;
        process.serving += 1;
        process.left -= 1;
        Some(process.chosen(*number))
    }

    async fn start_process(self: &Arc<Self>) -> Result<Chosen, (ProcessOptions, Error)> {
        let new = self.new_process().await?;
        Ok(self.keep(new, 1))
    }

    async fn new_process(&self) -> Result<NewProcess, (ProcessOptions, Error)> {
        let number = {
            let counts = &mut self.state().counts;
            counts.started += 1;
            counts.started - 1
        };
        let events = self.options.events.of_one_process();
        let options = ProcessOptions {
            events,
            ..(self.options.process)(number)
        };
        let program_time = program_time(&options.program);
        match FunctionProcess::start(&options).await {
            Ok(process) => Ok(NewProcess {
                number,
                options,
                program_time,
                process,
            }),
            Err(error) => Err((options, error)),
        }
    }

    /// Lets a new process serve, and watches it. It has been given so many events already.
    fn keep(self: &Arc<Self>, new: NewProcess, serving: u16) -> Chosen {
        let NewProcess {
            number,
            options,
            program_time,
            process,
        } = new;
        let (end, ending) = oneshot::channel();
        let (ended, alive) = watch::channel(());
        self.tasks()
            .spawn(Arc::clone(self).watch(number, process, ending, ended));
        let mut state = self.state();
        let left = state
            .random
            .u64(self.options.lifetime.clone())
            .saturating_sub(u64::from(serving));
        let started = Process {
            options,
            program_time,
            alive,
            serving,
            left,
            end,
        };
        let chosen = started.chosen(number);
        if !state.has_ended {
            state.processes.insert(number, started);
        }
        chosen
    }

    /// Ends the process when it is to end. Drops `ended` when it has ended, be it by itself.
    async fn watch(
        self: Arc<Self>,
        number: u64,
        mut process: FunctionProcess,
        ending: oneshot::Receiver<Duration>,
        ended: watch::Sender<()>,
    ) {
        tokio::select! {
            grace = ending => drop(match grace {
                Ok(grace) => process.end(grace).await,
                Err(_) => process.kill().await,
            }),
            status = process.ended() => {
                let program = {
                    let mut state = self.state();
                    state.counts.ended += 1;
                    state.processes.remove(&number).map(|process| process.options.program)
                };
                if let (Some(program), Ok(status)) = (program, status) {
                    (self.options.report)(&program, Failure::Ended(status));
                }
            }
        }
        self.state().counts.errors += process.invocation_errors();
        drop(ended);
    }
}

impl Process {
    fn chosen(&self, number: u64) -> Chosen {
        let Self { options, alive, .. } = self;
        Chosen {
            number,
            events: options.events.clone(),
            alive: alive.clone(),
            timeout: options.invocation_timeout,
        }
    }
}

fn program_time(program: &Path) -> Option<SystemTime> {
    std::fs::metadata(program)
        .and_then(|metadata| metadata.modified())
        .ok()
}
