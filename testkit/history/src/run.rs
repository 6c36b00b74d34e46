//! One run: clients, kills, the drain, and the check. Must not know what is correct.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::consistency::{RunRecord, checker};
use anyhow::Result;
use sandbox::pool::ProcessCounts;
use sandbox::runtime_api::EventQueue;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use crate::batches;
use crate::clients::{Client, ClientGroup};
use crate::deployment::{ACCOUNTS, AccountKey, Deployment, RETENTION};
use crate::drain::{self, Drained};
use crate::generated::CANARY;
use crate::imports::Import;
use crate::log_check::LogCheck;
use crate::options::{RunOptions, RunPart};
use crate::stored;
use crate::summary::{CallTotals, Counts, RequestCounts, Summary, total_calls, total_processes};
use crate::updates;
use crate::windows::FaultWindows;

/// Clients that send signals.
const SIGNAL_CLIENTS: u64 = 12;

/// Clients that update customers.
const CUSTOMER_CLIENTS: u64 = 24;

/// How long clients send before an outage, so that the functions have read their keys.
const BEFORE_OUTAGE: Duration = Duration::from_secs(20);

/// How often a run reports its progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Runs, reports to `progress`, and checks.
///
/// # Errors
/// When something of the run cannot be started.
pub async fn run(options: RunOptions, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    LocalSet::new()
        .run_until(Box::pin(run_local(options, progress)))
        .await
}

async fn run_local(options: RunOptions, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    let start = Instant::now();
    let (windows, end) = match options.outage {
        Some(duration) => {
            let begin = start + BEFORE_OUTAGE;
            let end = begin + duration;
            (FaultWindows::outage(begin, end), end)
        }
        None => (
            FaultWindows::random(options.seed_of(RunPart::Windows), start),
            start,
        ),
    };
    let (log, lines) = mpsc::unbounded_channel();
    let deployment = Deployment::start(&options, &windows, &log).await?;
    drop(log);
    let mut secrets = vec![CANARY.to_owned()];
    secrets.extend(deployment.keys.iter().map(|account| account.key.clone()));
    let log_check = tokio::task::spawn_local(LogCheck::run(lines, secrets));
    let traffic = send(&options, &deployment, end, &progress).await?;
    deployment.end().await;
    let calls = total_calls(&deployment);
    let processes = total_processes(&deployment);
    let dead_letters = deployment.queue.dead_letters();
    // Without their functions no process is left to write the log, so its check ends.
    let emulator = deployment.into_emulator();
    let log = log_check.await?;
    progress("reading what is stored");
    let stored = stored::read(&emulator, RETENTION);
    progress("checking");
    let record = RunRecord {
        requests: traffic.clients.signals.record.take().requests,
        updates: traffic.clients.customers.record.take().updates,
        unkept: log.unkept,
    };
    let report = checker::check(&record, &stored);
    Ok(Summary {
        report,
        leaks: log.leaks,
        counts: traffic.count(&windows, calls, processes, dead_letters),
    })
}

/// What was sent, killed and drained.
struct SentTraffic {
    clients: Clients,
    drained: Drained,
    drain_took: Duration,
    took: Duration,
}

impl SentTraffic {
    fn count(
        &self,
        windows: &FaultWindows,
        calls: CallTotals,
        processes: ProcessCounts,
        dead_letters: usize,
    ) -> Counts {
        let Clients {
            signals,
            customers,
            kills,
        } = &self.clients;
        let unavailable_signals = signals.counts.unavailable.take();
        let unavailable_customers = customers.counts.unavailable.take();
        let unexplained_503s = unavailable_signals
            .iter()
            .chain(&unavailable_customers)
            .filter(|failure| !windows.explains(failure))
            .count();
        Counts {
            signals: RequestCounts::new(signals, &unavailable_signals),
            customers: RequestCounts::new(customers, &unavailable_customers),
            imported: customers.counts.imported.get(),
            unexplained_503s,
            drained: self.drained,
            drain_took: self.drain_took,
            dead_letters,
            kills: kills.get(),
            calls: calls.calls,
            faulted_calls: calls.faulted,
            throttled_writes: calls.throttled_writes,
            processes,
            took: self.took,
        }
    }
}

/// Runs all clients to their end, kills processes meanwhile, and drains the queue.
async fn send(
    options: &RunOptions,
    deployment: &Deployment,
    end: Instant,
    progress: &impl Fn(&str),
) -> Result<SentTraffic> {
    let start = Instant::now();
    let clients = Clients::new(deployment);
    let is_over = Rc::new(Cell::new(false));
    let draining = spawn_drain(options, deployment, is_over.clone());
    let traffic = clients.run(options, deployment, end);
    let report = || progress(&clients.progress_after(start.elapsed()));
    reporting(traffic, report).await;
    let took = start.elapsed();
    deployment.end_faults();
    is_over.set(true);
    let faults_ended = Instant::now();
    let report = || {
        let remaining = deployment.queue.remaining();
        progress(&format!(
            "draining the overflow queue: {remaining} messages remain"
        ));
    };
    let drained = reporting(draining, report).await??;
    Ok(SentTraffic {
        clients,
        drained,
        drain_took: faults_ended.elapsed(),
        took,
    })
}

/// All clients, and the processes that were killed while they ran.
struct Clients {
    signals: Rc<ClientGroup>,
    customers: Rc<ClientGroup>,
    kills: Cell<u64>,
}

impl Clients {
    fn new(deployment: &Deployment) -> Self {
        let group = |events: &EventQueue| Rc::new(ClientGroup::new(events.clone()));
        Self {
            signals: group(&deployment.signals.events),
            customers: group(&deployment.customers.events),
            kills: Cell::new(0),
        }
    }

    /// Runs the clients until enough signals are acknowledged and `end` has come, and kills
    /// processes meanwhile.
    async fn run(&self, options: &RunOptions, deployment: &Deployment, end: Instant) {
        let stop = Rc::new(Cell::new(false));
        let updating = spawn_updates(options, deployment, &self.customers, &stop);
        let sending = spawn_signals(options, deployment, &self.signals, end);
        let killing = kill(options, deployment, &self.signals, &self.kills);
        // Both at once: when a client panics, the kills wait for signals that it does not send.
        tokio::join!(killing, join_all(sending));
        stop.set(true);
        join_all(updating).await;
    }

    /// What the clients have done after this time, for the reader of the progress.
    fn progress_after(&self, time: Duration) -> String {
        let seconds = time.as_secs();
        let acknowledged = self.signals.counts.acknowledged.get();
        let deferred = self.signals.counts.deferred.get();
        let kills = self.kills.get();
        format!(
            "{seconds} s: {acknowledged} signals acknowledged, {deferred} deferred, {kills} kills"
        )
    }
}

/// Starts the clients that send signals until `end`.
fn spawn_signals(
    options: &RunOptions,
    deployment: &Deployment,
    group: &Rc<ClientGroup>,
    end: Instant,
) -> Vec<JoinHandle<()>> {
    let seed = options.seed_of(RunPart::SignalClients);
    let quota = options.signals.div_ceil(SIGNAL_CLIENTS);
    let clients = clients(SIGNAL_CLIENTS, seed, &deployment.keys);
    clients
        .map(|client| {
            let sending = batches::send(group.clone(), client, quota, end);
            tokio::task::spawn_local(sending)
        })
        .collect()
}

/// Starts the clients that update customers, and the imports, until `stop` is set.
fn spawn_updates(
    options: &RunOptions,
    deployment: &Deployment,
    group: &Rc<ClientGroup>,
    stop: &Rc<Cell<bool>>,
) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    let seed = options.seed_of(RunPart::CustomerClients);
    for client in clients(CUSTOMER_CLIENTS, seed, &deployment.keys) {
        let updating = updates::send(group.clone(), client, stop.clone());
        tasks.push(tokio::task::spawn_local(updating));
    }
    for account in 0..ACCOUNTS {
        let import = Import {
            table: deployment.customers_table(),
            account,
            seed: options.seed_of(RunPart::Imports),
        };
        let importing = import.run(group.clone(), stop.clone());
        tasks.push(tokio::task::spawn_local(importing));
    }
    tasks
}

/// Starts the drain of the overflow queue, which ends when nothing follows and the queue is empty.
fn spawn_drain(
    options: &RunOptions,
    deployment: &Deployment,
    is_over: Rc<Cell<bool>>,
) -> JoinHandle<Result<Drained>> {
    let queue = deployment.queue.clone();
    let events = deployment.overflow.events.clone();
    let random = fastrand::Rng::with_seed(options.seed_of(RunPart::Drain));
    tokio::task::spawn_local(drain::run(queue, events, random, move || is_over.get()))
}

/// Waits for `work`, and reports at once and then in intervals.
async fn reporting<T>(work: impl Future<Output = T>, report: impl Fn()) -> T {
    let mut work = pin!(work);
    loop {
        report();
        if let Ok(done) = tokio::time::timeout(REPORT_INTERVAL, &mut work).await {
            return done;
        }
    }
}

/// Clients that use the keys in turn. Every second one never retries.
fn clients(count: u64, seed: u64, keys: &[AccountKey]) -> impl Iterator<Item = Client> {
    (0..count)
        .zip(keys.iter().cycle())
        .map(move |(number, AccountKey { account, key })| Client {
            number,
            account: *account,
            key: key.clone(),
            retries: number % 2 == 1,
            seed,
        })
}

async fn join_all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.expect("a task does not fail");
    }
}

/// Kills processes at random times, which the seed determines, until all signals are acknowledged.
/// Counts the kills.
async fn kill(
    options: &RunOptions,
    deployment: &Deployment,
    signals: &ClientGroup,
    kills: &Cell<u64>,
) {
    let mut random = fastrand::Rng::with_seed(options.seed_of(RunPart::Kills));
    let mut moments: Vec<u64> = (0..options.kills)
        .map(|_| random.u64(..options.signals))
        .collect();
    moments.sort_unstable();
    for moment in moments {
        while signals.counts.acknowledged.get() < moment {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Not always right after an acknowledgement.
        tokio::time::sleep(Duration::from_millis(random.u64(..60))).await;
        let functions = deployment.functions();
        let function = functions[random.usize(..functions.len())];
        let is_killed = function.pool.kill(&mut random);
        kills.set(kills.get() + u64::from(is_killed));
    }
}
