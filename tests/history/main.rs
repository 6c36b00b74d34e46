//! One run on real processes: clients send signals and updates over Lambda's Runtime API while
//! processes are killed with SIGKILL, their clocks differ, connections to DynamoDB break, and
//! DynamoDB is unavailable for some seconds, so that the overflow queue is drained. At the end, the checker
//! of [`consistency`] compares what clients sent and received with what is stored.
//!
//! It shows that the functions keep their promises as programs, over sockets and in real time. The
//! simulator shows the outages themselves, thousands of them.
//!
//! | module | is for |
//! |---|---|
//! | `deployment`, `function` | what surrounds the functions; the processes of one |
//! | `clients`, `batches`, `updates` | sending, and recording what is received |
//! | `deliveries` | the messages that the overflow function gets |
#![expect(
    clippy::indexing_slicing,
    reason = "only tests call this: to panic is to fail the test"
)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command: this is how it speaks"
)]

mod batches;
mod clients;
mod deliveries;
mod deployment;
mod function;
mod updates;

use std::cell::Cell;
use std::fmt;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::Result;
use consistency::{RunRecord, checker, stored};
use harness::table_name;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::sleep;

use crate::clients::{Client, ClientGroup};
use crate::deployment::{ACCOUNTS, Deployment, RETENTION};
use crate::function::Counts as ProcessCounts;

/// How many signals are acknowledged, at least.
const SIGNALS: u64 = 10_000;

/// How many processes are killed meanwhile, at least: a fast machine has sent its signals before.
const KILLS: u64 = 10;

/// After these signals, DynamoDB is unavailable for so long.
const SIGNALS_BEFORE_OUTAGE: u64 = SIGNALS / 3;
const OUTAGE: Duration = Duration::from_secs(3);

const SIGNAL_CLIENTS: u64 = 4;
const CUSTOMER_CLIENTS: u64 = 4;

/// How often it looks, and says, how far the clients and the drain are.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// A count of a run. Also a run without its disturbances proves nothing.
struct Count {
    what: &'static str,
    number: u64,
    /// Whether it must be above zero, and otherwise must be zero.
    is_expected: bool,
}

impl Count {
    fn expected(what: &'static str, number: u64) -> Self {
        Self {
            what,
            number,
            is_expected: true,
        }
    }

    fn unexpected(what: &'static str, number: u64) -> Self {
        Self {
            what,
            number,
            is_expected: false,
        }
    }

    fn is_wrong(&self) -> bool {
        self.is_expected != (self.number > 0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.number)
    }
}

// More than one thread: what stands for AWS responds while the clients are busy.
#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let mut terminated =
        signal(SignalKind::terminate()).expect("the process may listen to SIGTERM");
    let tasks = LocalSet::new();
    let result = tokio::select! {
        result = tasks.run_until(Box::pin(run())) => result,
        // The work is dropped here, and with it its processes, which would otherwise look for their
        // Runtime API for ever.
        _ = terminated.recv() => return ExitCode::FAILURE,
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: this does not hold.");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs and checks. Returns whether everything holds.
async fn run() -> Result<bool> {
    let begin = Instant::now();
    let mut deployment = Deployment::start().await?;
    let signals = Rc::new(ClientGroup::new(&deployment.signals));
    let customers = Rc::new(ClientGroup::new(&deployment.customers));
    let is_over = Rc::new(Cell::new(false));
    let queue = deployment.queue.clone();
    let draining = deliveries::start(&queue, &deployment.overflow.events, &is_over);
    let is_enough = Rc::new(Cell::new(false));
    let sending = spawn_clients(&deployment, &signals, &customers, &is_enough);
    let faulted_calls = disturb(&deployment, &signals).await;
    is_enough.set(true);
    for client in sending {
        client.await?;
    }
    deployment.end_faults();
    is_over.set(true);
    deliveries::finish(draining, &queue).await?;
    deployment.end().await;
    let counts = counts(&deployment, &signals, &customers, faulted_calls);
    for count in &counts {
        println!("{count}");
    }
    println!("seconds: {}", begin.elapsed().as_secs());
    let record = RunRecord {
        requests: signals.record.take().requests,
        updates: customers.record.take().updates,
        unkept: 0,
    };
    let wrong: Vec<_> = counts.iter().filter(|count| count.is_wrong()).collect();
    for count in &wrong {
        eprintln!("error: {count}");
    }
    let report = check(deployment, &record);
    println!("{report}");
    Ok(report.holds() && wrong.is_empty())
}

/// Starts all clients, which send until `is_enough`.
fn spawn_clients(
    deployment: &Deployment,
    signals: &Rc<ClientGroup>,
    customers: &Rc<ClientGroup>,
    is_enough: &Rc<Cell<bool>>,
) -> Vec<JoinHandle<()>> {
    let client = |number: u64| {
        let account = u32::try_from(number).unwrap_or_default() % ACCOUNTS;
        Client {
            number,
            account,
            key: deployment.keys[account as usize].clone(),
        }
    };
    let mut tasks = Vec::new();
    for number in 0..SIGNAL_CLIENTS {
        let sending = batches::send(Rc::clone(signals), client(number), Rc::clone(is_enough));
        tasks.push(tokio::task::spawn_local(sending));
    }
    for number in 0..CUSTOMER_CLIENTS {
        let sending = updates::send(Rc::clone(customers), client(number), Rc::clone(is_enough));
        tasks.push(tokio::task::spawn_local(sending));
    }
    tasks
}

/// Makes DynamoDB unavailable once, and returns when enough signals are acknowledged and enough processes are
/// killed. Returns how many calls had a fault before the outage.
async fn disturb(deployment: &Deployment, signals: &ClientGroup) -> u64 {
    wait_until(signals, || {
        signals.acknowledged.get() >= SIGNALS_BEFORE_OUTAGE
    })
    .await;
    let faulted_calls = deployment.faulted_calls();
    deployment.begin_outage();
    sleep(OUTAGE).await;
    deployment.end_outage();
    wait_until(signals, || {
        signals.acknowledged.get() >= SIGNALS && killed(deployment) >= KILLS
    })
    .await;
    faulted_calls
}

/// Waits until a condition holds, and says how far the clients are.
async fn wait_until(signals: &ClientGroup, condition: impl Fn() -> bool) {
    while !condition() {
        eprintln!(
            "history: {} of {SIGNALS} signals are acknowledged",
            signals.acknowledged.get()
        );
        sleep(REPORT_INTERVAL).await;
    }
}

/// How many processes were killed.
fn killed(deployment: &Deployment) -> u64 {
    sum(deployment, |counts| &counts.killed)
}

/// A count of the processes of all functions.
fn sum(deployment: &Deployment, count: impl Fn(&ProcessCounts) -> &AtomicU64) -> u64 {
    let functions = deployment.functions();
    let counts = functions.map(|function| count(function.processes.counts()).load(Relaxed));
    counts.into_iter().sum()
}

/// What the run counted, beside what is stored.
fn counts(
    deployment: &Deployment,
    signals: &ClientGroup,
    customers: &ClientGroup,
    faulted_calls: u64,
) -> [Count; 10] {
    [
        Count::expected("acknowledged signals", signals.acknowledged.get()),
        Count::expected("deferred signals", signals.deferred.get()),
        Count::expected("acknowledged updates", customers.acknowledged.get()),
        Count::expected("deferred updates", customers.deferred.get()),
        Count::expected("killed processes", killed(deployment)),
        Count::expected(
            "calls to DynamoDB with a fault before the outage",
            faulted_calls,
        ),
        Count::expected("messages of the overflow queue", deployment.queue.sent()),
        Count::unexpected("dead letters", deployment.queue.dead_letters()),
        Count::unexpected(
            "processes that ended by themselves",
            sum(deployment, |counts| &counts.ended),
        ),
        Count::unexpected("invocations that ended in an error", deployment.errors()),
    ]
}

/// Compares what the clients sent and received with what is stored.
fn check(deployment: Deployment, record: &RunRecord) -> checker::Report {
    let emulator = deployment.into_emulator();
    let for_each = |table: &str, each: &mut dyn FnMut(&mut Value)| {
        emulator
            .for_each_item(table_name(table), each)
            .expect("the emulator can be read");
    };
    let stored = stored::read(for_each, RETENTION);
    checker::check(record, &stored)
}
