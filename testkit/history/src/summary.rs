//! The result of a run, as it is printed.

use std::time::Duration;

use sandbox::pool::ProcessCounts;

use crate::clients::{ClientGroup, UnavailableResponse};
use crate::consistency::checker::Report;
use crate::deployment::Deployment;
use crate::drain::Drained;
use crate::options::RunOptions;

/// The fewest signals of a run in which messages, imports and faulted calls are expected.
const MIN_SIGNALS: u64 = 10_000;

/// The fewest signals of a run in which deferred updates are expected: they need a long window.
const MIN_SIGNALS_FOR_DEFERRED_UPDATES: u64 = 100_000;

/// The shortest outage in which deferred updates are expected.
const MIN_OUTAGE: Duration = Duration::from_secs(5);

/// The fewest kills of which one is expected to find a process: a function may have none.
const MIN_KILLS: u64 = 5;

/// The fewest drained messages of which one in twenty is expected to be delivered again.
const MIN_MESSAGES: u64 = 500;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// What the run was told.
    pub(super) options: RunOptions,
    /// What the checker found.
    pub report: Report,
    /// Lines of the log that contain a key or a value.
    pub leaks: Vec<String>,
    /// What else was counted.
    pub counts: Counts,
}

/// What was counted. Its fields are printed as they are named.
#[derive(Debug)]
pub struct Counts {
    /// Requests with signals.
    pub signals: RequestCounts,
    /// Requests with customers.
    pub customers: RequestCounts,
    /// Updates that imports wrote.
    pub imported: u64,
    /// 503s while SQS and S3 were available.
    pub unexplained_503s: usize,
    /// What was deferred, by messages.
    pub drained: Drained,
    /// How long draining took after the last request and the last fault.
    pub drain_took: Duration,
    /// Messages in the dead-letter queue.
    pub dead_letters: usize,
    /// Processes that were killed.
    pub kills: u64,
    /// Calls to DynamoDB.
    pub calls: u64,
    /// Those of them that were faulted.
    pub faulted_calls: u64,
    /// Writes of items that exceeded the capacity of a table.
    pub throttled_writes: u64,
    /// The processes of all functions.
    pub processes: ProcessCounts,
    /// How long it took, the last drain and the check excluded.
    pub took: Duration,
}

/// What clients of one kind counted.
#[derive(Debug)]
pub struct RequestCounts {
    /// Requests, each attempt counted.
    pub requests: u64,
    /// Signals or updates that were acknowledged.
    pub acknowledged: u64,
    /// Those of them that were deferred.
    pub deferred: u64,
    /// Requests that got a 503.
    pub unavailable: usize,
}

impl RequestCounts {
    pub(super) fn new(group: &ClientGroup, unavailable: &[UnavailableResponse]) -> Self {
        Self {
            requests: group.counts.attempts.get(),
            acknowledged: group.counts.acknowledged.get(),
            deferred: group.counts.deferred.get(),
            unavailable: unavailable.len(),
        }
    }
}

/// Calls of all functions to DynamoDB.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTotals {
    pub(super) calls: u64,
    pub(super) faulted: u64,
    /// Writes of items that exceeded the capacity of a table.
    pub(super) throttled_writes: u64,
}

/// Adds up the calls of all functions.
pub(super) fn total_calls(deployment: &Deployment) -> CallTotals {
    let mut totals = CallTotals {
        calls: 0,
        faulted: 0,
        throttled_writes: 0,
    };
    for function in deployment.functions() {
        let counts = function.proxy.counts();
        totals.calls += counts.calls();
        totals.faulted += counts.faulted;
        totals.throttled_writes += counts.throttled;
    }
    totals
}

/// Adds up the processes of all functions.
pub(super) fn total_processes(deployment: &Deployment) -> ProcessCounts {
    let mut totals = ProcessCounts::default();
    for function in deployment.functions() {
        let counts = function.pool.counts();
        totals.started += counts.started;
        totals.ended += counts.ended;
        totals.errors += counts.errors;
    }
    totals
}

impl Summary {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        let counts = &self.counts;
        self.report.holds()
            && self.leaks.is_empty()
            && counts.processes.ended == 0
            && counts.processes.errors == 0
            && counts.unexplained_503s == 0
            && counts.dead_letters == 0
            && self.missing_events().is_empty()
    }

    /// What the run was told to contain, and did not. A run without its faults proves nothing.
    pub fn missing_events(&self) -> Vec<&'static str> {
        let RunOptions {
            signals,
            kills,
            outage,
            ..
        } = self.options;
        let counts = &self.counts;
        let has_outage = outage.is_some_and(|outage| outage >= MIN_OUTAGE);
        let is_long = has_outage || signals >= MIN_SIGNALS;
        let defers_updates = has_outage || signals >= MIN_SIGNALS_FOR_DEFERRED_UPDATES;
        let events = [
            ("a killed process", kills >= MIN_KILLS, counts.kills),
            ("a faulted call", is_long, counts.faulted_calls),
            ("an imported update", is_long, counts.imported),
            ("a drained message", is_long, counts.drained.messages),
            (
                "a message that is delivered again after its drain",
                counts.drained.messages >= MIN_MESSAGES,
                counts.drained.repeated,
            ),
            (
                "a deferred update",
                defers_updates,
                counts.customers.deferred,
            ),
        ];
        events
            .into_iter()
            .filter(|(_, is_expected, count)| *is_expected && *count == 0)
            .map(|(event, ..)| event)
            .collect()
    }
}
