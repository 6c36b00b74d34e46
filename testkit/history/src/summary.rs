//! The result of a run, as it is printed. Must not know how it came about.

use std::fmt;
use std::time::Duration;

use consistency::checker::Report;

use crate::delivery::Invocations;
use crate::delivery_checker;
use crate::deployment::Deployment;
use crate::drain::Drained;
use crate::environment::Environment;
use fault_proxy::CallCounts;

/// Requests with signals for one 503 while SQS is available: a machine that is too busy keeps SQS from answering in time.
const REQUESTS_PER_503: u64 = 200;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// What the checker found.
    pub report: Report,
    /// What the checker of the delivery found.
    pub delivery: delivery_checker::Report,
    /// The invocations that delivered.
    pub invocations: Invocations,
    /// Records that the delivery wrote to the failure bucket.
    pub unreadable: usize,
    /// Updates of customers that were acknowledged.
    pub updates: u64,
    /// Requests with signals and with customers, each attempt counted.
    pub requests: [u64; 2],
    /// 503s of requests with signals, those of them whose key was valid while SQS was available, and 503s of customers.
    pub unavailable: [u64; 3],
    /// What the overflow queue took.
    pub drain: Drain,
    /// Messages in the dead-letter queue.
    pub dead_letters: usize,
    /// Processes that were killed.
    pub kills: u64,
    /// What the functions called.
    pub calls: Calls,
    /// Whether the clocks of the environments differed.
    pub has_skewed_clocks: bool,
    /// Lines that the functions logged.
    pub log_lines: u64,
    /// The lines among them that contain a key or a value.
    pub leaks: Vec<String>,
    /// How long it took, the last drain and the check excluded.
    pub took: Duration,
}

/// What the overflow queue took.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Signals that were deferred.
    pub deferred: u64,
    /// Their messages.
    pub drained: Drained,
    /// How long draining took after the last request and the last fault.
    pub took: Duration,
}

/// What the functions called.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Calls to DynamoDB, and how many of them were faulted.
    pub dynamodb: [u64; 2],
    /// Writes of items that exceeded the capacity of a table.
    pub throttled: u64,
    /// Invocations that ended in an error, and processes that ended by themselves.
    pub failures: [u64; 2],
}

impl Calls {
    pub(super) fn of(deployment: &Deployment) -> Self {
        let environments = &deployment.environments;
        let ends = environments.iter().map(|environment| u64::from(environment.has_failed())).sum();
        let counts: Vec<_> = environments.iter().map(|environment| environment.proxy.counts()).collect();
        Self {
            dynamodb: [counts.iter().map(CallCounts::calls).sum(), counts.iter().map(|counts| counts.faulted).sum()],
            throttled: counts.iter().map(|counts| counts.throttled).sum(),
            failures: [environments.iter().map(Environment::invocation_errors).sum(), ends],
        }
    }
}

impl Summary {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        let Self { report, leaks, calls, dead_letters, requests: [requests, _], .. } = self;
        let [_, unexplained, _] = self.unavailable;
        let is_available = unexplained * REQUESTS_PER_503 <= *requests;
        let is_delivered = self.delivery.holds() && self.unreadable == 0;
        report.holds()
            && is_delivered
            && leaks.is_empty()
            && calls.failures == [0, 0]
            && *dead_letters == 0
            && is_available
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { updates, requests: [signal_requests, customer_requests], took, kills, .. } = self;
        let [unavailable, unexplained, of_customers] = self.unavailable;
        let Drain { deferred, drained, took: drain_took } = self.drain;
        let Calls { dynamodb: [calls, faulted], throttled, failures: [errors, ends] } = self.calls;
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let share = unavailable as f64 * 100.0 / (*signal_requests).max(1) as f64;
        let Invocations { total, failed, lost } = self.invocations;
        writeln!(f, "{}", self.report)?;
        writeln!(f, "{}", self.delivery)?;
        writeln!(
            f,
            "{total} invocations delivered, {failed} of them not all of their records, {lost} ended with their process; \
             {} records in the failure bucket",
            self.unreadable
        )?;
        writeln!(
            f,
            "{signal_requests} requests with signals and {customer_requests} with customers in {} s, {updates} updates \
             acknowledged, {kills} processes killed",
            took.as_secs()
        )?;
        writeln!(
            f,
            "{unavailable} 503s for signals ({share:.2} %), {unexplained} of them for a valid key while SQS was available; \
             {of_customers} for customers"
        )?;
        writeln!(
            f,
            "{deferred} signals deferred in {} messages, {} deliveries failed, {} messages delivered again; \
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
        writeln!(f, "{errors} invocations ended in an error, {ends} processes ended by themselves")?;
        write!(f, "{} lines logged, {} of them with a key or a value", self.log_lines, self.leaks.len())?;
        self.leaks.iter().take(5).try_for_each(|line| write!(f, "\n  {line}"))
    }
}
