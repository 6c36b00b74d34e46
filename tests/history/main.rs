//! One run on real processes: clients send signals and updates over Lambda's Runtime API while
//! processes are killed with SIGKILL, their clocks differ, connections to DynamoDB break, and
//! DynamoDB is away for some seconds, so that the overflow queue is drained. At the end, the checker
//! of [`consistency`] compares what clients sent and received with what is stored.
//!
//! It shows that the functions keep their promises as programs, over sockets and in real time. The
//! simulator shows the outages themselves, thousands of them.
//!
//! | module | is for |
//! |---|---|
//! | `deployment` | the functions as processes, and what surrounds them |
//! | `clients`, `batches`, `updates` | sending, and recording what is received |
//! | `drain` | the drain of the overflow queue |
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command: this is how it speaks"
)]

mod batches;
mod clients;
mod deployment;
mod drain;
mod updates;

use std::cell::Cell;
use std::fmt;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use consistency::{RunRecord, checker, stored};
use serde_json::Value;
use testkit::table_name;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::sleep;

use crate::clients::{Client, ClientGroup};
use crate::deployment::{ACCOUNTS, Deployment, RETENTION};
use crate::drain::Drained;

/// How many signals are acknowledged, at least.
const SIGNALS: u64 = 10_000;

/// How often a process is killed: at each such part of the signals.
const KILLS: u64 = 20;

/// After these signals DynamoDB is away for so long.
const SIGNALS_BEFORE_OUTAGE: u64 = SIGNALS / 3;
const OUTAGE: Duration = Duration::from_secs(3);

const SIGNAL_CLIENTS: u64 = 4;
const CUSTOMER_CLIENTS: u64 = 4;

/// How often the main task looks how far the clients are.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How often it says how far the drain is.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// What a run counted.
struct Counts {
    signals: u64,
    deferred_signals: u64,
    updates: u64,
    deferred_updates: u64,
    kills: u64,
    calls_with_a_fault: u64,
    drained: Drained,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            signals,
            deferred_signals,
            updates,
            deferred_updates,
            kills,
            calls_with_a_fault,
            drained,
        } = self;
        let Drained {
            messages,
            failures,
            repeated,
        } = drained;
        write!(
            f,
            "{signals} signals acknowledged, {deferred_signals} of them deferred; \
             {updates} updates, {deferred_updates} of them deferred; \
             {kills} processes killed, {calls_with_a_fault} calls to DynamoDB with a fault; \
             {messages} messages drained, {failures} deliveries failed, {repeated} repeated"
        )
    }
}

// More than one thread: what stands for AWS answers while the clients are busy.
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
    let deployment = Deployment::start().await?;
    let signals = Rc::new(ClientGroup::new(&deployment.signals));
    let customers = Rc::new(ClientGroup::new(&deployment.customers));
    let is_over = Rc::new(Cell::new(false));
    let draining = tokio::task::spawn_local(drain::run(
        deployment.queue.clone(),
        deployment.overflow.events.clone(),
        Rc::clone(&is_over),
    ));
    let is_enough = Rc::new(Cell::new(false));
    let sending = spawn_clients(&deployment, &signals, &customers, &is_enough);
    let kills = disturb(&deployment, &signals).await;
    is_enough.set(true);
    for client in sending {
        client.await?;
    }
    deployment.end_faults();
    is_over.set(true);
    while !draining.is_finished() {
        let messages = deployment.queue.remaining();
        eprintln!("history: {messages} messages of the overflow queue remain");
        sleep(REPORT_INTERVAL).await;
    }
    let drained = draining.await??;
    deployment.end().await;
    let counts = Counts {
        signals: signals.acknowledged.get(),
        deferred_signals: signals.deferred.get(),
        updates: customers.acknowledged.get(),
        deferred_updates: customers.deferred.get(),
        kills,
        calls_with_a_fault: deployment.faulted_calls(),
        drained,
    };
    let record = RunRecord {
        requests: signals.record.take().requests,
        updates: customers.record.take().updates,
        unkept: 0,
    };
    let seconds = begin.elapsed().as_secs();
    println!("{counts}; {seconds} seconds");
    let problems = problems(&deployment, &counts);
    for problem in &problems {
        eprintln!("error: {problem}");
    }
    let report = check(deployment, &record);
    println!("{report}");
    Ok(report.holds() && problems.is_empty())
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

/// Kills processes and takes DynamoDB away, until enough signals are acknowledged. Returns how many
/// processes were killed.
async fn disturb(deployment: &Deployment, signals: &ClientGroup) -> u64 {
    let mut random = fastrand::Rng::new();
    let mut kills = 0;
    let mut is_outage_to_come = true;
    for part in 1..=KILLS {
        let moment = SIGNALS * part / KILLS;
        eprintln!(
            "history: {} of {SIGNALS} signals are acknowledged",
            signals.acknowledged.get()
        );
        while signals.acknowledged.get() < moment {
            sleep(POLL_INTERVAL).await;
        }
        if is_outage_to_come && moment >= SIGNALS_BEFORE_OUTAGE {
            is_outage_to_come = false;
            deployment.begin_outage();
            sleep(OUTAGE).await;
            deployment.end_outage();
        }
        // Not always right after an acknowledgement.
        sleep(Duration::from_millis(random.u64(..60))).await;
        let functions = deployment.functions();
        let function = functions[random.usize(..functions.len())];
        kills += u64::from(function.pool.kill(&mut random));
    }
    kills
}

/// What is wrong beside what is stored: also a run without its disturbances proves nothing.
fn problems(deployment: &Deployment, counts: &Counts) -> Vec<&'static str> {
    let processes = deployment
        .functions()
        .map(|function| function.pool.counts());
    [
        (
            processes.iter().any(|counts| counts.ended > 0),
            "a process ended by itself",
        ),
        (
            processes.iter().any(|counts| counts.errors > 0),
            "an invocation ended in an error",
        ),
        (
            deployment.queue.dead_letters() > 0,
            "there is a dead letter",
        ),
        (counts.kills == 0, "no process was killed"),
        (counts.calls_with_a_fault == 0, "no call had a fault"),
        (counts.deferred_signals == 0, "no signal was deferred"),
        (counts.drained.messages == 0, "no message was drained"),
    ]
    .into_iter()
    .filter_map(|(is_wrong, problem)| is_wrong.then_some(problem))
    .collect()
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
