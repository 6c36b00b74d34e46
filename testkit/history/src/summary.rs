//! The result of a run, as it is printed. Must not know how it came about.

use std::fmt;
use std::time::Duration;

use consistency::checker::Report;

use crate::clients::Unavailable;
use crate::deployment::Deployment;
use crate::drain::Drained;
use fault_proxy::CallCounts;
use sandbox::pool::ProcessCounts;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// What the checker found.
    pub report: Report,
    /// Updates of customers that were acknowledged.
    pub updates: u64,
    /// Requests with signals and with customers, each attempt counted.
    pub requests: [u64; 2],
    /// 503s of requests with signals, and with customers.
    pub unavailable: [Failures; 2],
    /// Those while SQS and S3 were available.
    pub unexplained: usize,
    /// Signals and updates that were deferred.
    pub deferred: [u64; 2],
    /// Their messages.
    pub drained: Drained,
    /// How long draining took after the last request and the last fault.
    pub drain_took: Duration,
    /// Messages in the dead-letter queue.
    pub dead_letters: usize,
    /// Processes that were killed.
    pub kills: u64,
    /// What the functions called.
    pub calls: Calls,
    /// Whether the clocks of the processes differed.
    pub has_skewed_clocks: bool,
    /// Lines that the functions logged.
    pub log_lines: u64,
    /// The lines among them that contain a key or a value.
    pub leaks: Vec<String>,
    /// How long it took, the last drain and the check excluded.
    pub took: Duration,
}

/// 503s.
#[derive(Clone, Copy, Debug)]
pub struct Failures {
    /// All of them.
    pub all: usize,
    /// First responses of their process.
    pub cold: usize,
}

impl Failures {
    pub(super) fn of(failures: &[Unavailable]) -> Self {
        Self { all: failures.len(), cold: failures.iter().filter(|failure| failure.is_cold).count() }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} of them of new processes,", self.all, self.cold)
    }
}

/// What the functions called.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Calls to DynamoDB, and how many of them were faulted.
    pub dynamodb: [u64; 2],
    /// Writes of items that exceeded the capacity of a table.
    pub throttled: u64,
    /// The processes of all functions; `at_once` are the most of one function.
    pub processes: ProcessCounts,
}

impl Calls {
    pub(super) fn of(deployment: &Deployment) -> Self {
        let functions = &deployment.functions;
        let counts: Vec<_> = functions.iter().map(|(_, proxy)| proxy.counts()).collect();
        let processes: Vec<_> = functions.iter().map(|(function, _)| function.counts()).collect();
        let sum = |of: fn(&ProcessCounts) -> u64| processes.iter().map(of).sum();
        Self {
            dynamodb: [counts.iter().map(CallCounts::calls).sum(), counts.iter().map(|counts| counts.faulted).sum()],
            throttled: counts.iter().map(|counts| counts.throttled).sum(),
            processes: ProcessCounts {
                started: sum(|counts| counts.started),
                at_once: processes.iter().map(|counts| counts.at_once).max().unwrap_or_default(),
                ended: sum(|counts| counts.ended),
                errors: sum(|counts| counts.errors),
            },
        }
    }
}

impl Summary {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        let Self { report, leaks, unexplained, dead_letters, .. } = self;
        let ProcessCounts { ended, errors, .. } = self.calls.processes;
        report.holds() && leaks.is_empty() && [ended, errors] == [0; 2] && [*unexplained, *dead_letters] == [0; 2]
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { updates, requests: [signal_requests, customer_requests], took, kills, .. } = self;
        let Self { unavailable: [of_signals, of_customers], unexplained, .. } = self;
        let Self { deferred: [signals, updates_deferred], drained, drain_took, .. } = self;
        let Calls { dynamodb: [calls, faulted], throttled, processes } = self.calls;
        let ProcessCounts { started, at_once, ended, errors } = processes;
        writeln!(f, "{}", self.report)?;
        writeln!(
            f,
            "{signal_requests} requests with signals and {customer_requests} with customers in {} s, {updates} updates \
             acknowledged, {kills} processes killed",
            took.as_secs()
        )?;
        writeln!(
            f,
            "503s: {of_signals} for signals; {of_customers} for customers; {unexplained} while SQS and S3 were available"
        )?;
        writeln!(
            f,
            "{signals} signals and {updates_deferred} updates deferred in {} messages, {} deliveries failed, {} messages delivered again; \
             drained {:.1} s after the end; {} messages in the dead-letter queue",
            drained.messages,
            drained.failures,
            drained.repeated,
            drain_took.as_secs_f64(),
            self.dead_letters
        )?;
        writeln!(
            f,
            "{calls} calls to DynamoDB, {faulted} of them faulted; {throttled} writes over the tables' capacity"
        )?;
        if !self.has_skewed_clocks {
            writeln!(f, "the clocks of the processes were not set: only Linux can do that")?;
        }
        writeln!(
            f,
            "{started} processes started, at most {at_once} of a function at one time; {errors} invocations ended in an error \
             or at their timeout, {ended} processes ended by themselves"
        )?;
        write!(f, "{} lines logged, {} of them with a key or a value", self.log_lines, self.leaks.len())?;
        self.leaks.iter().take(5).try_for_each(|line| write!(f, "\n  {line}"))
    }
}
