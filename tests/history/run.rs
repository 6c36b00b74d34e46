//! One run: clients, kills, the drain, and the check. This module must not know what is correct.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use consistency::generated::CANARY;
use consistency::{RunRecord, checker, stored};
use processes::pool::ProcessCounts;
use serde_json::Value;
use testkit::table_name;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use crate::deployment::{Deployment, RETENTION};
use crate::drain::{self, Drained};
use crate::log_check::LogCheck;
use crate::options::{RunOptions, RunPart};
use crate::summary::{CallTotals, Counts, RequestCounts, Summary, total_calls, total_processes};
use crate::traffic::Clients;
use crate::windows::FaultWindows;

/// How long clients send before an outage, so that the functions have read their keys.
const BEFORE_OUTAGE: Duration = Duration::from_secs(20);

/// How often a run reports its progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Runs, reports to `progress`, and checks.
///
/// # Errors
/// When something of the run cannot be started.
pub(super) async fn run(options: RunOptions, progress: impl Fn(&str) + 'static) -> Result<Summary> {
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
    let for_each = |table: &str, each: &mut dyn FnMut(&mut Value)| {
        emulator
            .for_each_item(table_name(table), each)
            .expect("the emulator can be read");
    };
    let stored = stored::read(for_each, RETENTION);
    progress("checking");
    let record = RunRecord {
        requests: traffic.clients.signals.record.take().requests,
        updates: traffic.clients.customers.record.take().updates,
        unkept: log.unkept,
    };
    let report = checker::check(&record, &stored);
    Ok(Summary {
        options,
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
