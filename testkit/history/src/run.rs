//! One run: clients, kills, the drain, and the check. Must not know what is correct.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::consistency::{History, checker};
use anyhow::Result;
use fault_proxy::FaultProxy;
use sandbox::pool::Pool;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use crate::clients::{self, Client, Shared, Unavailable};
use crate::deployment::{ACCOUNTS, Deployment, RETENTION};
use crate::drain::{self, Drained};
use crate::imports::Import;
use crate::load::CANARY;
use crate::log_check::LogCheck;
use crate::options::Options;
use crate::stored;
use crate::summary::{Counts, OfClients, Summary, calls_of, processes_of};
use crate::updates;
use crate::windows::Windows;

/// Clients that send signals, and clients that update customers.
const CLIENTS: [u64; 2] = [12, 24];

/// How long clients send before an outage, so that the functions have read their keys.
const BEFORE_OUTAGE: Duration = Duration::from_secs(20);

/// How often a run reports its progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Runs, reports to `progress`, and checks.
///
/// # Errors
/// When something of the run cannot be started.
pub async fn run(options: Options, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    LocalSet::new()
        .run_until(Box::pin(run_local(options, progress)))
        .await
}

async fn run_local(options: Options, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    let start = Instant::now();
    let (windows, end) = match options.outage {
        Some(lasts) => {
            let begin = start + BEFORE_OUTAGE;
            (Windows::outage(begin, begin + lasts), begin + lasts)
        }
        None => (Windows::random(options.seed, start), start),
    };
    let (log, lines) = mpsc::unbounded_channel();
    let deployment = Deployment::start(&options, &windows, &log).await?;
    drop(log);
    let secrets = deployment
        .keys
        .iter()
        .map(|(_, key)| key.clone())
        .chain([CANARY.to_owned()])
        .collect();
    let log_check = tokio::task::spawn_local(LogCheck::run(lines, secrets));
    let Traffic {
        signals,
        customers,
        drained,
        drain_took,
        kills,
        took,
    } = send(&options, &deployment, end, &progress).await?;
    deployment.end().await;
    let [calls, faulted_calls, throttled_writes] = calls_of(&deployment);
    let processes = processes_of(&deployment);
    let Deployment {
        emulator,
        queue,
        functions,
        ..
    } = deployment;
    drop(functions);
    let log = log_check.await?;
    progress("reading what is stored");
    let stored = stored::read(&emulator, RETENTION);
    progress("checking");
    let history = History {
        requests: signals.history.take().requests,
        updates: customers.history.take().updates,
        unkept: log.unkept,
    };
    let [of_signals, of_customers] =
        [&signals, &customers].map(|shared| shared.counts.unavailable.take());
    let is_unexplained = |failure: &&Unavailable| !windows.explains(failure);
    let counts = Counts {
        signals: OfClients::of(&signals, &of_signals),
        customers: OfClients::of(&customers, &of_customers),
        imported: customers.counts.imported.get(),
        unexplained_503s: of_signals
            .iter()
            .chain(&of_customers)
            .filter(is_unexplained)
            .count(),
        drained,
        drain_took,
        dead_letters: queue.dead_letters(),
        kills,
        calls,
        faulted_calls,
        throttled_writes,
        processes,
        took,
    };
    Ok(Summary {
        report: checker::check(&history, &stored),
        leaks: log.leaks,
        counts,
    })
}

/// What was sent, killed and drained.
struct Traffic {
    signals: Rc<Shared>,
    customers: Rc<Shared>,
    drained: Drained,
    drain_took: Duration,
    kills: u64,
    took: Duration,
}

/// Runs all clients to their end, kills processes meanwhile, and drains the queue.
async fn send(
    options: &Options,
    deployment: &Deployment,
    end: Instant,
    progress: &impl Fn(&str),
) -> Result<Traffic> {
    let start = Instant::now();
    let [signals, customers, overflow] = deployment.events.clone();
    let (signals, customers) = (
        Rc::new(Shared::new(signals)),
        Rc::new(Shared::new(customers)),
    );
    let (stop, is_over) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let quota = options.signals.div_ceil(CLIENTS[0]);
    let [signal_clients, customer_clients] = CLIENTS;
    let imports = (0..ACCOUNTS).map(|account| {
        let import = Import {
            table: deployment.customers(),
            account,
            seed: options.seed.rotate_left(8),
        };
        tokio::task::spawn_local(import.run(customers.clone(), stop.clone()))
    });
    let updating: Vec<_> = clients(customer_clients, !options.seed, &deployment.keys)
        .map(|client| {
            tokio::task::spawn_local(updates::send(customers.clone(), client, stop.clone()))
        })
        .chain(imports)
        .collect();
    let sending: Vec<_> = clients(signal_clients, options.seed, &deployment.keys)
        .map(|client| {
            tokio::task::spawn_local(clients::signals(signals.clone(), client, quota, end))
        })
        .collect();
    let draining = {
        let (queue, is_over) = (deployment.queue.clone(), is_over.clone());
        let random = fastrand::Rng::with_seed(options.seed.rotate_left(48));
        tokio::task::spawn_local(drain::run(queue, overflow, random, move || is_over.get()))
    };
    let kills = Cell::new(0);
    let traffic = async {
        kill(options, &deployment.functions, &signals, &kills).await;
        all(sending).await;
        stop.set(true);
        all(updating).await;
    };
    let report = || {
        let (acknowledged, deferred) = (
            signals.counts.acknowledged.get(),
            signals.counts.deferred.get(),
        );
        progress(&format!(
            "{} s: {acknowledged} signals acknowledged, {deferred} deferred, {} kills",
            start.elapsed().as_secs(),
            kills.get()
        ));
    };
    reporting(traffic, report).await;
    let took = start.elapsed();
    deployment.end_faults();
    is_over.set(true);
    let faults_ended = Instant::now();
    let report = || {
        progress(&format!(
            "draining the overflow queue: {} messages remain",
            deployment.queue.remaining()
        ));
    };
    let drained = reporting(draining, report).await?;
    Ok(Traffic {
        signals,
        customers,
        drained,
        drain_took: faults_ended.elapsed(),
        kills: kills.get(),
        took,
    })
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
fn clients(count: u64, seed: u64, keys: &[(u32, String)]) -> impl Iterator<Item = Client> {
    (0..count)
        .zip(keys.iter().cycle())
        .map(move |(number, (account, key))| Client {
            number,
            account: *account,
            key: key.clone(),
            retries: number % 2 == 1,
            seed,
        })
}

async fn all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.expect("a task does not fail");
    }
}

/// Kills processes at random times, which the seed determines, until all signals are acknowledged.
/// Counts the kills.
async fn kill(
    options: &Options,
    functions: &[(Arc<Pool>, FaultProxy)],
    signals: &Shared,
    kills: &Cell<u64>,
) {
    let mut random = fastrand::Rng::with_seed(options.seed.rotate_left(32));
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
        let (function, _) = &functions[random.usize(..functions.len())];
        kills.set(kills.get() + u64::from(function.kill(&mut random)));
    }
}
