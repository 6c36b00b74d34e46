//! Compares what is stored with what was sent, by the checker of the tests' history.

use std::time::{Duration, Instant};

use anyhow::Result;
use consistency::History;
use consistency::checker::{Report, Violation, check};
use model::timestamp::Timestamp;

use super::load::subject_id;
use super::run::Run;
use super::stored;
use crate::check_result::Verdict;
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
    let (history, deferred) = (run.history(), run.seen.borrow().deferred);
    let began = Instant::now();
    let (signals, report) = loop {
        let stored = stored::read(stack, run.account, since).await?;
        let report = check(&history, &stored);
        let is_draining = deferred > 0 && report.count(Violation::Lost) > 0;
        if !is_draining || began.elapsed() > DRAIN_TIMEOUT {
            break (stored.signals.len(), report);
        }
        note("Waiting for deferred signals to be stored ...");
        tokio::time::sleep(INTERVAL).await;
    };
    for (violation, promise, name) in VIOLATIONS {
        run.add(promise, name, verdict(&history, &report, violation));
    }
    if deferred > 0 {
        let seconds = began.elapsed().as_secs();
        let detail = format!("{deferred} signals, all stored {seconds} s after the last request");
        let missing = report.count(Violation::Lost);
        let verdict = if missing == 0 {
            Verdict::held(detail)
        } else {
            Verdict::failed(format!("{missing} signals are missing after {} s", DRAIN_TIMEOUT.as_secs()))
        };
        run.add("When DynamoDB is unavailable", "Deferred signals are stored", verdict);
    }
    Ok(signals)
}

fn verdict(history: &History, report: &Report, violation: Violation) -> Verdict {
    let count = report.count(violation);
    if count == 0 {
        let Report { acknowledged, refused, unknown, fields, .. } = report;
        return Verdict::held(match violation {
            Violation::Unkept | Violation::Phantom => format!("{refused} rejected signals"),
            Violation::Stale => format!("{fields} fields"),
            _ => format!("{acknowledged} acknowledged signals, {unknown} unknown"),
        });
    }
    let mut examples = report.examples().iter().filter(|example| example.violation == violation);
    let Some(example) = examples.next() else { return Verdict::failed(format!("{count} cases")) };
    let place = example.signal.and_then(|(number, index)| {
        let request = history.requests.get(&number)?;
        let subject = subject_id(request.signals.get(usize::try_from(index).ok()?)?.who);
        let identifier = request.identifier.as_deref().unwrap_or("none");
        Some(format!("signal {index} of the request with requestIdentifier {identifier}, of {subject}: "))
    });
    let place = place.unwrap_or_default();
    Verdict::failed(format!("{count} case(s); the first: {place}{}", example.text))
}
