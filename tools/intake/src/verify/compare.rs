//! Compares what is stored with what was sent, by the checker of the tests' history.

use std::time::{Duration, Instant};

use anyhow::Result;
use consistency::checker::{Report, Violation, check};
use model::timestamp::Timestamp;

use super::check::Check;
use super::load::subject_id;
use super::run::Run;
use super::stored;
use crate::output::note;
use crate::stack::Stack;

/// How long deferred signals may take to be stored.
const DRAIN_TIMEOUT: Duration = Duration::from_mins(2);
const INTERVAL: Duration = Duration::from_secs(3);

/// What each violation is called, and the section of docs/api.md that excludes it.
const VIOLATIONS: [(Violation, &str, &str); 7] = [
    (Violation::Lost, "Signals", "Every acknowledged signal is stored"),
    (Violation::Duplicate, "Retries", "No signal is stored twice"),
    (Violation::Wrong, "Signals", "Each item holds what was sent"),
    (Violation::Phantom, "Signals", "Nothing else is stored"),
    (Violation::OutOfOrder, "Signals", "The order is kept"),
    (Violation::Unkept, "Signals", "Rejected signals are kept as they were sent"),
    (Violation::Stale, "Customers", "Each customer has its last update"),
];

/// Reads everything back and adds a check for each kind of violation. Returns how many signals
/// are stored.
pub(super) async fn compare(run: &Run<'_>, stack: &Stack, since: Timestamp) -> Result<usize> {
    let history = run.history();
    let began = Instant::now();
    let (signals, report) = loop {
        let stored = stored::read(stack, run.account, since).await?;
        let report = check(&history, &stored);
        let is_draining = run.deferred() > 0 && report.count(Violation::Lost) > 0;
        if !is_draining || began.elapsed() > DRAIN_TIMEOUT {
            break (stored.signals.len(), report);
        }
        note("Waiting for deferred signals to be stored ...");
        tokio::time::sleep(INTERVAL).await;
    };
    for (violation, promise, name) in VIOLATIONS {
        run.add(check_of(run, &report, violation, promise, name));
    }
    if run.deferred() > 0 {
        let detail =
            format!("{} signals, all stored {} s after the last request", run.deferred(), began.elapsed().as_secs());
        let missing = report.count(Violation::Lost);
        let (promise, name) = ("When DynamoDB is unavailable", "Deferred signals are stored");
        run.add(if missing == 0 {
            Check::held(promise, name, detail)
        } else {
            Check::failed(promise, name, format!("{missing} signals are missing after {} s", DRAIN_TIMEOUT.as_secs()))
        });
    }
    Ok(signals)
}

fn check_of(run: &Run<'_>, report: &Report, violation: Violation, promise: &'static str, name: &str) -> Check {
    let count = report.count(violation);
    if count == 0 {
        let Report { acknowledged, refused, unknown, fields, .. } = report;
        let detail = match violation {
            Violation::Unkept | Violation::Phantom => format!("{refused} rejected signals"),
            Violation::Stale => format!("{fields} fields"),
            _ => format!("{acknowledged} acknowledged signals, {unknown} unknown"),
        };
        return Check::held(promise, name, detail);
    }
    let mut examples = report.examples().iter().filter(|example| example.violation == violation);
    let Some(example) = examples.next() else { return Check::failed(promise, name, format!("{count} cases")) };
    let place = example.signal.and_then(|(number, index)| {
        let batch = run.batch_of(number)?;
        let subject = subject_id(batch.sent.get(usize::try_from(index).ok()?)?.who);
        let identifier = batch.identifier.as_deref().unwrap_or("none");
        Some(format!("signal {index} of the request with requestIdentifier {identifier}, of {subject}: "))
    });
    let place = place.unwrap_or_default();
    Check::failed(promise, name, format!("{count} case(s); the first: {place}{}", example.text))
}
