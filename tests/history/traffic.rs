//! All clients of a run, and the processes that are killed while they send. This module must not
//! know what is drained or checked.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use processes::runtime_api::EventQueue;
use tokio::task::JoinHandle;

use crate::batches;
use crate::clients::{Client, ClientGroup};
use crate::deployment::{ACCOUNTS, AccountKey, Deployment};
use crate::imports::Import;
use crate::options::{RunOptions, RunPart};
use crate::updates;

/// Clients that send signals.
const SIGNAL_CLIENTS: u64 = 12;

/// Clients that update customers.
const CUSTOMER_CLIENTS: u64 = 24;

/// All clients, and the processes that were killed while they ran.
pub(super) struct Clients {
    pub(super) signals: Rc<ClientGroup>,
    pub(super) customers: Rc<ClientGroup>,
    pub(super) kills: Cell<u64>,
}

impl Clients {
    pub(super) fn new(deployment: &Deployment) -> Self {
        let group = |events: &EventQueue| Rc::new(ClientGroup::new(events.clone()));
        Self {
            signals: group(&deployment.signals.events),
            customers: group(&deployment.customers.events),
            kills: Cell::new(0),
        }
    }

    /// Runs the clients until enough signals are acknowledged and `end` has come, and kills
    /// processes meanwhile.
    pub(super) async fn run(&self, options: &RunOptions, deployment: &Deployment, end: Instant) {
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
    pub(super) fn progress_after(&self, time: Duration) -> String {
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
