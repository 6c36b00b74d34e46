//! One run: an emulator, environments with faults, clients, kills, and the check. Must not know what is correct.

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::checker::{self, Report};
use super::clients::{self, Shared};
use super::environment::Environment;
use super::load::CANARY;
use super::log_check::LogCheck;
use super::record::History;
use super::stored;
use crate::fault_proxy::{CallCounts, Fault, FaultProxy, Plan};
use crate::function_process::ProcessOptions;
use crate::functions::emulator_options;
use crate::test_app::{TestApp, client_at, create_key};

/// Clients that send signals.
const SIGNAL_CLIENTS: u64 = 10;

/// Clients that update customers.
const CUSTOMER_CLIENTS: u64 = 6;

/// Environments of the function for signals, and of the one for customers.
const ENVIRONMENTS: [u64; 2] = [5, 2];

/// Invocations that an environment serves at once, where it serves more than one.
const AT_ONCE: u16 = 4;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many signals are to be acknowledged, at least.
    pub signals: u64,
    /// How many processes are killed.
    pub kills: u64,
    /// The share of the calls to DynamoDB that are faulted, from 0 to 1.
    pub faults: f64,
    /// Chooses what is sent, what is faulted and what is killed.
    pub seed: u64,
    /// Where the programs `customers` and `signals` are.
    pub programs: PathBuf,
}

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// What the checker found.
    pub report: Report,
    /// Updates of customers that were acknowledged.
    pub updates: u64,
    /// Requests that clients sent, each attempt counted.
    pub attempts: u64,
    /// Processes that were killed.
    pub kills: u64,
    /// Calls to DynamoDB, and how many of them were faulted.
    pub calls: [u64; 2],
    /// Invocations that ended in an error, and processes that ended by themselves.
    pub failures: [u64; 2],
    /// Lines that the functions logged.
    pub log_lines: u64,
    /// The lines among them that contain a key or a value.
    pub leaks: Vec<String>,
    /// How long it took, the check excluded.
    pub took: Duration,
}

impl Summary {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        self.report.holds() && self.leaks.is_empty() && self.failures == [0, 0]
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [calls, faulted] = self.calls;
        let [invocation_errors, ends] = self.failures;
        writeln!(f, "{}", self.report)?;
        writeln!(
            f,
            "{} updates of customers acknowledged, {} requests sent in {} s, {} processes killed",
            self.updates,
            self.attempts,
            self.took.as_secs(),
            self.kills
        )?;
        writeln!(f, "{calls} calls to DynamoDB, {faulted} of them faulted")?;
        writeln!(f, "{invocation_errors} invocations ended in an error, {ends} processes ended by themselves")?;
        write!(f, "{} lines logged, {} of them with a key or a value", self.log_lines, self.leaks.len())?;
        self.leaks.iter().take(5).try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// Runs, reports to `progress`, and checks.
pub async fn run(options: Options, progress: impl Fn(&str) + 'static) -> Summary {
    LocalSet::new().run_until(run_local(options, progress)).await
}

async fn run_local(options: Options, progress: impl Fn(&str) + 'static) -> Summary {
    let began = Instant::now();
    let emulator = TestApp::emulator();
    let key = create_key(&client_at(&emulator.endpoint()), "history", |_| {}).await;
    let (log, lines) = mpsc::unbounded_channel();
    let log_check = tokio::task::spawn_local(LogCheck::run(lines, [CANARY.to_owned(), key.clone()]));
    let mut environments = Vec::new();
    let mut kinds = Vec::new();
    for (program, count) in ["signals", "customers"].into_iter().zip(ENVIRONMENTS) {
        let program = options.programs.join(program);
        let mut process = ProcessOptions { log: Some(log.clone()), ..emulator_options(&program, "") };
        for nth in 0..count {
            // Every second environment serves several invocations at once.
            process.concurrency = Some(if nth % 2 == 0 { 1 } else { AT_ONCE });
            let seed = options.seed.wrapping_mul(1_000).wrapping_add(environments.len() as u64);
            let proxy = FaultProxy::start(&emulator.endpoint(), faults(options.faults, seed)).await.unwrap();
            environments.push(Environment::start(process.clone(), proxy).await);
        }
        kinds.push(Rc::new(Shared::new(process.events, key.clone())));
    }
    drop(log);
    let [signals, customers] = <[_; 2]>::try_from(kinds).unwrap_or_else(|_| panic!("two kinds of function"));
    let stop = Rc::new(Cell::new(false));
    let updating: Vec<_> = (0..CUSTOMER_CLIENTS)
        .map(|client| tokio::task::spawn_local(clients::updates(customers.clone(), client, options.seed, stop.clone())))
        .collect();
    let quota = options.signals.div_ceil(SIGNAL_CLIENTS);
    let sending: Vec<_> = (0..SIGNAL_CLIENTS)
        .map(|client| tokio::task::spawn_local(clients::signals(signals.clone(), client, options.seed, quota)))
        .collect();
    let kills = kill(&options, &mut environments, &signals, &progress, began).await;
    for client in sending {
        client.await.expect("a client does not fail");
    }
    stop.set(true);
    for client in updating {
        client.await.expect("a client does not fail");
    }
    let took = began.elapsed();
    let ends = environments.iter_mut().map(|environment| u64::from(environment.has_ended())).sum();
    let counts: Vec<_> = environments.iter().map(|environment| environment.proxy.counts()).collect();
    let invocation_errors = environments.iter().map(Environment::invocation_errors).sum();
    drop(environments);
    let LogCheck { lines, leaks } = log_check.await.expect("the log is read to its end");
    progress("reading what is stored");
    let stored = stored::read(&emulator.endpoint());
    progress("checking");
    let history = History { requests: signals.history.take().requests, updates: customers.history.take().updates };
    Summary {
        report: checker::check(&history, &stored),
        updates: customers.acknowledged.get(),
        attempts: signals.attempts.get().saturating_add(customers.attempts.get()),
        kills,
        calls: [counts.iter().map(CallCounts::calls).sum(), counts.iter().map(|counts| counts.faulted).sum()],
        failures: [invocation_errors, ends],
        log_lines: lines,
        leaks,
        took,
    }
}

/// Kills processes at random times, which the seed determines, until all signals are acknowledged.
async fn kill(
    options: &Options,
    environments: &mut [Environment],
    signals: &Shared,
    progress: &impl Fn(&str),
    began: Instant,
) -> u64 {
    let mut random = fastrand::Rng::with_seed(options.seed.rotate_left(32));
    let mut moments: Vec<u64> = (0..options.kills).map(|_| random.u64(..options.signals)).collect();
    moments.sort_unstable();
    let mut reported = Instant::now();
    let mut kills = 0_u64;
    for moment in moments.into_iter().chain([options.signals]) {
        while signals.acknowledged.get() < moment {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                let seconds = began.elapsed().as_secs();
                progress(&format!("{seconds} s: {} signals acknowledged, {kills} kills", signals.acknowledged.get()));
            }
        }
        if moment < options.signals {
            // Not always right after an acknowledgement.
            tokio::time::sleep(Duration::from_millis(random.u64(..60))).await;
            let which = random.usize(..environments.len());
            environments[which].kill().await;
            kills = kills.saturating_add(1);
        }
    }
    kills
}

/// Every kind of fault, in about `share` of the calls.
fn faults(share: f64, seed: u64) -> Plan {
    let parts = [
        (Fault::Throttled, 0.2),
        (Fault::TableThrottled, 0.08),
        (Fault::InternalServerError, 0.15),
        (Fault::ServiceUnavailable, 0.08),
        (Fault::ResetBefore, 0.12),
        (Fault::ResetAfter, 0.17),
        (Fault::CutBody, 0.06),
        (Fault::Slow(Duration::from_millis(40)), 0.05),
        (Fault::ExpiredToken, 0.004),
        (Fault::UnrecognizedClient, 0.004),
        (Fault::Stall, 0.002),
        (Fault::Unprocessed { done: 0 }, 0.04),
        (Fault::Unprocessed { done: 1 }, 0.04),
        (Fault::Unprocessed { done: 12 }, 0.06),
    ];
    Plan::of(parts.map(|(fault, part)| fault.in_share(share * part))).seed(seed)
}
