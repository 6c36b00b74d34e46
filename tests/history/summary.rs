//! The result of a run, as it is printed.

use std::time::Duration;

use consistency::checker::Report;
use processes::pool::ProcessCounts;

use crate::clients::{ClientGroup, UnavailableResponse};
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
pub(super) struct Summary {
    /// What the run was told.
    pub(super) options: RunOptions,
    /// What the checker found.
    pub(super) report: Report,
    /// Lines of the log that contain a key or a value.
    pub(super) leaks: Vec<String>,
    /// What else was counted.
    pub(super) counts: Counts,
}

/// What was counted. Its fields are printed as they are named.
#[derive(Debug)]
#[expect(dead_code, reason = "the command prints all fields")]
pub(super) struct Counts {
    /// Requests with signals.
    pub(super) signals: RequestCounts,
    /// Requests with customers.
    pub(super) customers: RequestCounts,
    /// Updates that imports wrote.
    pub(super) imported: u64,
    /// 503s while SQS and S3 were available.
    pub(super) unexplained_503s: usize,
    /// What was deferred, by messages.
    pub(super) drained: Drained,
    /// How long draining took after the last request and the last fault.
    pub(super) drain_took: Duration,
    /// Messages in the dead-letter queue.
    pub(super) dead_letters: usize,
    /// Processes that were killed.
    pub(super) kills: u64,
    /// Calls to DynamoDB.
    pub(super) calls: u64,
    /// Those of them that were faulted.
    pub(super) faulted_calls: u64,
    /// Writes of items that exceeded the capacity of a table.
    pub(super) throttled_writes: u64,
    /// The processes of all functions.
    pub(super) processes: ProcessCounts,
    /// How long it took, the last drain and the check excluded.
    pub(super) took: Duration,
}

/// What clients of one kind counted.
#[derive(Debug)]
#[expect(dead_code, reason = "the command prints all fields")]
pub(super) struct RequestCounts {
    /// Requests, each attempt counted.
    pub(super) requests: u64,
    /// Signals or updates that were acknowledged.
    pub(super) acknowledged: u64,
    /// Those of them that were deferred.
    pub(super) deferred: u64,
    /// Requests that got a 503.
    pub(super) unavailable: usize,
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
    pub(super) fn holds(&self) -> bool {
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
    pub(super) fn missing_events(&self) -> Vec<&'static str> {
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use consistency::checker::{Subject, Violation};

    type CountsChange = fn(&mut Counts);

    fn requests() -> RequestCounts {
        RequestCounts {
            requests: 1,
            acknowledged: 1,
            deferred: 1,
            unavailable: 0,
        }
    }

    /// A long run in which everything happened and nothing was lost.
    fn long_run() -> Summary {
        Summary {
            options: RunOptions {
                signals: MIN_SIGNALS_FOR_DEFERRED_UPDATES,
                kills: MIN_KILLS,
                outage: None,
                seed: 1,
                programs: PathBuf::new(),
            },
            report: Report::default(),
            leaks: Vec::new(),
            counts: Counts {
                signals: requests(),
                customers: requests(),
                imported: 1,
                unexplained_503s: 0,
                drained: Drained {
                    messages: MIN_MESSAGES,
                    failures: 0,
                    repeated: 1,
                },
                drain_took: Duration::ZERO,
                dead_letters: 0,
                kills: 1,
                calls: 1,
                faulted_calls: 1,
                throttled_writes: 0,
                processes: ProcessCounts::default(),
                took: Duration::ZERO,
            },
        }
    }

    #[test]
    fn run_with_everything_that_it_was_told_to_contain_holds() {
        assert_eq!(long_run().missing_events(), [""; 0]);
        assert!(long_run().holds());
    }

    #[test]
    fn run_in_which_something_is_not_as_it_must_be_does_not_hold() {
        let changes: [fn(&mut Summary); 6] = [
            |run| {
                run.report
                    .add(Violation::Lost, Subject::Request(1), String::new);
            },
            |run| run.leaks.push(String::new()),
            |run| run.counts.processes.ended = 1,
            |run| run.counts.processes.errors = 1,
            |run| run.counts.unexplained_503s = 1,
            |run| run.counts.dead_letters = 1,
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut run = long_run();
            change(&mut run);
            assert!(!run.holds(), "change {number}");
        }
    }

    #[test]
    fn long_run_without_one_of_its_events_does_not_hold() {
        let changes: [(&str, CountsChange); 6] = [
            ("a killed process", |counts| counts.kills = 0),
            ("a faulted call", |counts| counts.faulted_calls = 0),
            ("an imported update", |counts| counts.imported = 0),
            ("a drained message", |counts| counts.drained.messages = 0),
            (
                "a message that is delivered again after its drain",
                |counts| counts.drained.repeated = 0,
            ),
            ("a deferred update", |counts| counts.customers.deferred = 0),
        ];
        for (event, change) in changes {
            let mut run = long_run();
            change(&mut run.counts);
            assert_eq!(run.missing_events(), [event]);
            assert!(!run.holds(), "without {event}");
        }
    }

    #[test]
    fn short_run_needs_none_of_the_events_and_an_outage_all_but_a_kill() {
        let mut run = long_run();
        run.counts.kills = 0;
        run.counts.faulted_calls = 0;
        run.counts.imported = 0;
        run.counts.drained = Drained::default();
        run.counts.customers.deferred = 0;
        run.options.signals = 1;
        run.options.kills = 0;
        assert_eq!(run.missing_events(), [""; 0]);
        run.options.outage = Some(MIN_OUTAGE);
        let missing = [
            "a faulted call",
            "an imported update",
            "a drained message",
            "a deferred update",
        ];
        assert_eq!(run.missing_events(), missing);
    }
}
