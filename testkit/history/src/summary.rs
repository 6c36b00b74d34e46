//! The result of a run, as it is printed. Must not know how it came about.

use std::time::Duration;

use crate::consistency::checker::Report;

use crate::clients::{Shared, Unavailable};
use crate::deployment::Deployment;
use crate::drain::Drained;
use fault_proxy::CallCounts;
use sandbox::pool::ProcessCounts;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
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
    /// Of requests with signals.
    pub signals: OfClients,
    /// Of requests with customers.
    pub customers: OfClients,
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
pub struct OfClients {
    /// Requests, each attempt counted.
    pub requests: u64,
    /// Signals or updates that were acknowledged.
    pub acknowledged: u64,
    /// Those of them that were deferred.
    pub deferred: u64,
    /// 503s.
    pub unavailable: usize,
}

impl OfClients {
    pub(super) fn of(shared: &Shared, unavailable: &[Unavailable]) -> Self {
        Self {
            requests: shared.counts.attempts.get(),
            acknowledged: shared.counts.acknowledged.get(),
            deferred: shared.counts.deferred.get(),
            unavailable: unavailable.len(),
        }
    }
}

/// The calls of the functions, those that were faulted, and the writes that were throttled.
pub(super) fn calls_of(deployment: &Deployment) -> [u64; 3] {
    let counts: Vec<_> = deployment
        .functions
        .iter()
        .map(|(_, proxy)| proxy.counts())
        .collect();
    let sum = |of: fn(&CallCounts) -> u64| counts.iter().map(of).sum();
    [
        sum(CallCounts::calls),
        sum(|counts| counts.faulted),
        sum(|counts| counts.throttled),
    ]
}

/// The processes of all functions.
pub(super) fn processes_of(deployment: &Deployment) -> ProcessCounts {
    let counts: Vec<_> = deployment
        .functions
        .iter()
        .map(|(function, _)| function.counts())
        .collect();
    let sum = |of: fn(&ProcessCounts) -> u64| counts.iter().map(of).sum();
    ProcessCounts {
        started: sum(|counts| counts.started),
        ended: sum(|counts| counts.ended),
        errors: sum(|counts| counts.errors),
    }
}

impl Summary {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        let Counts {
            processes,
            unexplained_503s,
            dead_letters,
            ..
        } = self.counts;
        let ProcessCounts { ended, errors, .. } = processes;
        self.report.holds()
            && self.leaks.is_empty()
            && [ended, errors] == [0; 2]
            && [unexplained_503s, dead_letters] == [0; 2]
    }
}
