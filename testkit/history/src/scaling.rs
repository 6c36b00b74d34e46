//! The processes of a function, as Lambda has them: an idle one serves an event, or else a new one is started; after some events
//! it is replaced. Must not know what is in an event.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::clock::SkewedClock;
use sandbox::function_process::{FunctionProcess, ProcessOptions};
use sandbox::runtime_api::{Event, EventQueue};

/// Events that every second process serves at once.
const AT_ONCE: u16 = 4;

/// How long a process may take to start, on a busy machine. Lambda gives it 10 s.
const INIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A function.
pub(super) struct Function {
    options: ProcessOptions,
    clock: Option<Rc<SkewedClock>>,
    /// How many events a process serves.
    lifetime: RangeInclusive<u64>,
    random: RefCell<fastrand::Rng>,
    processes: RefCell<BTreeMap<u64, Process>>,
    tasks: RefCell<JoinSet<()>>,
    serving: OnceCell<AbortHandle>,
    counts: Cell<ProcessCounts>,
}

/// What a function counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCounts {
    /// Processes that were started.
    pub started: u64,
    /// The most processes at one time.
    pub at_once: u64,
    /// Processes that ended by themselves.
    pub ended: u64,
    /// Invocations that ended in an error or at their timeout.
    pub errors: u64,
}

/// A process. It is killed when this is dropped.
struct Process {
    events: EventQueue,
    alive: watch::Receiver<()>,
    serving: u16,
    at_once: u16,
    /// Events that it may still be given.
    left: u64,
    _kill: oneshot::Sender<()>,
}

impl Function {
    /// Serves the events of these options from here on.
    pub(super) fn start(
        options: ProcessOptions,
        clock: Option<Rc<SkewedClock>>,
        lifetime: RangeInclusive<u64>,
        seed: u64,
    ) -> Rc<Self> {
        let function = Rc::new(Self {
            options,
            clock,
            lifetime,
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            processes: RefCell::default(),
            tasks: RefCell::default(),
            serving: OnceCell::new(),
            counts: Cell::default(),
        });
        let of_task = function.clone();
        let serving = async move {
            let mut serving = JoinSet::new();
            while let Some(event) = of_task.options.events.next().await {
                serving.spawn_local(of_task.clone().serve(event));
            }
        };
        let serving = function.tasks.borrow_mut().spawn_local(serving);
        function.serving.get_or_init(|| serving);
        function
    }

    /// What was counted so far.
    pub(super) fn counts(&self) -> ProcessCounts {
        self.counts.get()
    }

    /// Kills a process wherever it is, one that serves if there is one. What it has sent may still be on its way.
    pub(super) fn kill(&self, random: &mut fastrand::Rng) -> bool {
        let mut processes = self.processes.borrow_mut();
        let numbers = |is_busy: bool| processes.iter().filter(move |(_, process)| !is_busy || process.serving > 0);
        let busy: Vec<u64> = numbers(true).map(|(number, _)| *number).collect();
        let any: Vec<u64> = numbers(false).map(|(number, _)| *number).collect();
        let number = random.choice(if busy.is_empty() { any } else { busy });
        number.and_then(|number| processes.remove(&number)).is_some()
    }

    /// Kills all processes, and waits until they have ended.
    pub(super) async fn end(&self) {
        if let Some(serving) = self.serving.get() {
            serving.abort();
        }
        self.processes.take();
        let mut tasks = self.tasks.take();
        while tasks.join_next().await.is_some() {}
    }

    fn count(&self, count: impl FnOnce(&mut ProcessCounts)) {
        let mut counts = self.counts.get();
        count(&mut counts);
        self.counts.set(counts);
    }

    /// Serves an event. Without a response, its caller learns that there is none.
    async fn serve(self: Rc<Self>, event: Event) {
        let (number, events, mut alive) = match self.idle_process() {
            Some(process) => process,
            None => self.start_process().await,
        };
        let invocation = tokio::select! {
            biased;
            invocation = events.invoke(event.body) => invocation,
            // Nothing is ever sent, so this is the end of the process.
            _ = alive.changed() => None,
            () = sleep(INIT_TIMEOUT + self.options.invocation_timeout) => {
                self.count(|counts| counts.errors += 1);
                self.processes.borrow_mut().remove(&number);
                None
            }
        };
        let mut processes = self.processes.borrow_mut();
        if let Some(process) = processes.get_mut(&number) {
            process.serving -= 1;
            if process.left == 0 && process.serving == 0 {
                processes.remove(&number);
            }
        }
        drop(processes);
        if let Some(invocation) = invocation {
            // The caller may have given up.
            let _ = event.invocation.send(invocation);
        }
    }

    fn idle_process(&self) -> Option<(u64, EventQueue, watch::Receiver<()>)> {
        let mut processes = self.processes.borrow_mut();
        let is_idle = |process: &Process| process.serving < process.at_once && process.left > 0;
        let (number, process) = processes.iter_mut().find(|(_, process)| is_idle(process))?;
        process.serving += 1;
        process.left -= 1;
        Some((*number, process.events.clone(), process.alive.clone()))
    }

    async fn start_process(self: &Rc<Self>) -> (u64, EventQueue, watch::Receiver<()>) {
        let number = self.counts.get().started;
        self.count(|counts| counts.started += 1);
        let at_once = if number.is_multiple_of(2) { 1 } else { AT_ONCE };
        let events = EventQueue::default();
        let mut options = ProcessOptions { events: events.clone(), concurrency: Some(at_once), ..self.options.clone() };
        if let Some(clock) = &self.clock {
            clock.set(&mut options, number);
        }
        let process = FunctionProcess::start(&options).await.expect("the program can be started");
        let (kill, killed) = oneshot::channel();
        let (ended, alive) = watch::channel(());
        self.tasks.borrow_mut().spawn_local(self.clone().watch(number, process, killed, ended));
        let left = self.random.borrow_mut().u64(self.lifetime.clone()).saturating_sub(1);
        let started = Process { events: events.clone(), alive: alive.clone(), serving: 1, at_once, left, _kill: kill };
        let mut processes = self.processes.borrow_mut();
        processes.insert(number, started);
        let running = processes.len() as u64;
        self.count(|counts| counts.at_once = counts.at_once.max(running));
        (number, events, alive)
    }

    /// Ends the process when it is to be killed. Drops `ended` when it has ended, be it by itself.
    async fn watch(
        self: Rc<Self>,
        number: u64,
        mut process: FunctionProcess,
        killed: oneshot::Receiver<()>,
        ended: watch::Sender<()>,
    ) {
        tokio::select! {
            _ = killed => process.kill().await.expect("a process can be killed"),
            _ = process.ended() => {
                self.count(|counts| counts.ended += 1);
                self.processes.borrow_mut().remove(&number);
            }
        }
        self.count(|counts| counts.errors += process.invocation_errors());
        drop(ended);
    }
}
