//! One run: clients, kills, the drain, and the check. Must not know what is correct.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::timestamp::Timestamp;
use service::context::MAX_REQUEST_DURATION;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use super::checker;
use super::clients::{self, Client, Shared};
use super::deployment::{CLOCK_SKEW, Deployment, RETENTION};
use super::drain;
use super::environment::Environment;
use super::load::{CANARY, account_id};
use super::log_check::LogCheck;
use super::record::History;
use super::stored;
use super::summary::{Calls, Drain, Summary};
use super::windows::Windows;
use crate::test_app::{client_at, create_key};

/// Clients that send signals.
const SIGNAL_CLIENTS: u64 = 12;

/// Clients that update customers.
const CUSTOMER_CLIENTS: u64 = 6;

/// Accounts, and keys of each. Clients of one account share its customers.
const ACCOUNTS: u32 = 3;
const KEYS_PER_ACCOUNT: usize = 2;

/// Clients send this long before an outage begins, so that the functions have read their keys.
const BEFORE_OUTAGE: Duration = Duration::from_secs(20);

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many signals are to be acknowledged, at least.
    pub signals: u64,
    /// How many processes are killed.
    pub kills: u64,
    /// The share of the calls to DynamoDB that are faulted, from 0 to 1, beside the windows.
    pub faults: f64,
    /// An outage of DynamoDB of this length in place of the windows.
    pub outage: Option<Duration>,
    /// Chooses what is sent, what is faulted and what is killed.
    pub seed: u64,
    /// Where the programs of the functions are.
    pub programs: PathBuf,
}

/// Runs, reports to `progress`, and checks.
///
/// # Errors
/// When something of the run cannot be started.
pub async fn run(options: Options, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    LocalSet::new().run_until(run_local(options, progress)).await
}

async fn run_local(options: Options, progress: impl Fn(&str) + 'static) -> Result<Summary> {
    let (began, began_at) = (Instant::now(), Timestamp::now());
    let (windows, end) = match options.outage {
        Some(outage) => {
            let end = began + BEFORE_OUTAGE + outage;
            (Windows::outage(began + BEFORE_OUTAGE, end), end)
        }
        None => (Windows::random(options.seed, began), began),
    };
    let (log, lines) = mpsc::unbounded_channel();
    let mut deployment = Deployment::start(&options, &windows, &log).await?;
    drop(log);
    let [signals, customers] = clients_of(&options, &deployment).await;
    let secrets = [CANARY.to_owned()].into_iter().chain(signals.1.iter().map(|client| client.key.clone())).collect();
    let log_check = tokio::task::spawn_local(LogCheck::run(lines, secrets));
    let ((signals, signal_clients), (customers, customer_clients)) = (signals, customers);
    let stop = Rc::new(Cell::new(false));
    let updating: Vec<_> = customer_clients
        .into_iter()
        .map(|client| tokio::task::spawn_local(clients::updates(customers.clone(), client, stop.clone())))
        .collect();
    let quota = options.signals.div_ceil(SIGNAL_CLIENTS);
    let sending: Vec<_> = signal_clients
        .into_iter()
        .map(|client| tokio::task::spawn_local(clients::signals(signals.clone(), client, quota, end)))
        .collect();
    let is_over = Rc::new(Cell::new(false));
    let drain = {
        let (queue, events, is_over) = (deployment.queue.clone(), deployment.events[2].clone(), is_over.clone());
        let random = fastrand::Rng::with_seed(options.seed.rotate_left(48));
        tokio::task::spawn_local(drain::run(queue, events, random, move || is_over.get()))
    };
    let kills = kill(&options, &mut deployment.environments, &signals, &progress, began).await;
    all(sending).await;
    stop.set(true);
    all(updating).await;
    let took = began.elapsed();
    progress("draining the overflow queue");
    deployment.end_faults();
    is_over.set(true);
    let (faults_ended, drained) = (Instant::now(), drain.await?);
    let drain = Drain { drained, took: faults_ended.elapsed(), deferred: signals.counts.deferred.get() };
    let calls = Calls::of(&mut deployment);
    let has_skewed_clocks = deployment.has_skewed_clocks;
    let (emulator, dead_letters) = (deployment.emulator, deployment.dead_letters.take_messages().len());
    for environment in deployment.environments {
        environment.end().await;
    }
    let log = log_check.await?;
    progress("reading what is stored");
    let stored = stored::read(&emulator.endpoint(), RETENTION);
    progress("checking");
    let history = History {
        requests: signals.history.take().requests,
        updates: customers.history.take().updates,
        clock_skew: u64::try_from(CLOCK_SKEW.as_micros()).unwrap_or_default(),
        unkept: log.unkept,
    };
    let is_unexplained = |at: &&Timestamp| {
        let arrived = began + at.duration_since(began_at);
        !windows.is_queue_away(arrived.checked_sub(CLOCK_SKEW).unwrap_or(began), arrived + MAX_REQUEST_DURATION)
    };
    let unexplained = log.unavailable.iter().filter(is_unexplained).count() as u64;
    Ok(Summary {
        report: checker::check(&history, &stored),
        updates: customers.counts.acknowledged.get(),
        requests: [signals.counts.attempts.get(), customers.counts.attempts.get()],
        unavailable: [signals.counts.unavailable.get(), unexplained, customers.counts.unavailable.get()],
        drain,
        dead_letters,
        kills,
        calls,
        has_skewed_clocks,
        log_lines: log.lines,
        leaks: log.leaks,
        took,
    })
}

/// The clients of both functions, with what those of one function share.
async fn clients_of(options: &Options, deployment: &Deployment) -> [(Rc<Shared>, Vec<Client>); 2] {
    let mut keys = Vec::new();
    let dynamodb = client_at(&deployment.emulator.endpoint());
    for account in 0..ACCOUNTS {
        for _ in 0..KEYS_PER_ACCOUNT {
            keys.push((account, create_key(&dynamodb, &account_id(account), |_| {}).await));
        }
    }
    let clients = |count: u64, seed: u64| {
        let with_keys = (0..count).zip(keys.iter().cycle());
        let client = |(number, (account, key)): (u64, &(u32, String))| Client {
            number,
            account: *account,
            key: key.clone(),
            retries: number % 2 == 0,
            seed,
        };
        with_keys.map(client).collect()
    };
    let [signals, customers, _] = deployment.events.clone();
    [
        (Rc::new(Shared::new(signals)), clients(SIGNAL_CLIENTS, options.seed)),
        (Rc::new(Shared::new(customers)), clients(CUSTOMER_CLIENTS, !options.seed)),
    ]
}

async fn all(clients: Vec<JoinHandle<()>>) {
    for client in clients {
        client.await.expect("a client does not fail");
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
    let counts = &signals.counts;
    for moment in moments.into_iter().chain([options.signals]) {
        while counts.acknowledged.get() < moment {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                let (seconds, acknowledged, deferred) =
                    (began.elapsed().as_secs(), counts.acknowledged.get(), counts.deferred.get());
                progress(&format!(
                    "{seconds} s: {acknowledged} signals acknowledged, {deferred} deferred, {kills} kills"
                ));
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
