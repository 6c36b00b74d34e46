//! The rules for signals: how often each is stored, what it holds, in which order, and whether a
//! rejected one is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::report::{Report, Subject, Violation};
use crate::run_record::{
    ClientOutcome, Micros, RecordedRequest, RunRecord, SentSignal, Stored, StoredSignal,
};

/// Times are stored in milliseconds.
const MILLISECOND: Micros = 1_000;

/// Identifies a signal by its request and its index there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SignalId {
    request: u64,
    index: usize,
}

impl SignalId {
    /// The number and the index as an item has them. An index that is too large belongs to no
    /// signal.
    fn new(request: u64, index: u64) -> Self {
        Self {
            request,
            index: usize::try_from(index).unwrap_or(usize::MAX),
        }
    }

    fn find(self, record: &RunRecord) -> Option<FoundSignal<'_>> {
        let request = record.requests.get(&self.request)?;
        let sent = request.signals.get(self.index)?;
        Some(FoundSignal { request, sent })
    }
}

/// A signal that was sent, with its request.
#[derive(Clone, Copy)]
struct FoundSignal<'a> {
    request: &'a RecordedRequest,
    sent: &'a SentSignal,
}

/// Every stored signal was sent and holds what was sent; every sent signal is stored as often as
/// its client was told.
pub(super) fn check_copies(record: &RunRecord, stored: &Stored, report: &mut Report) {
    let mut copies: BTreeMap<SignalId, u64> = BTreeMap::new();
    let mut first_of_request: BTreeMap<u64, &StoredSignal> = BTreeMap::new();
    for item in &stored.signals {
        let id = SignalId::new(item.request, item.index);
        let found = id
            .find(record)
            .filter(|found| Some(found.sent.subject) == item.subject);
        let Some(found) = found else {
            let text = format!("{item:?} was not sent");
            report.add(Violation::Phantom, Subject::Request(item.request), text);
            continue;
        };
        let what = contradiction(found, item).or_else(|| {
            let first = *first_of_request.entry(item.request).or_insert(item);
            let is_as_first =
                first.identifier == item.identifier && first.received_at == item.received_at;
            let what = "another signal of its request has another requestIdentifier or time";
            (!is_as_first).then_some(what)
        });
        if let Some(what) = what {
            let text = format!("{item:?}: {what}");
            report.add(Violation::Wrong, Subject::Request(item.request), text);
        }
        *copies.entry(id).or_default() += 1;
    }
    for (number, request) in &record.requests {
        for (index, sent) in request.signals.iter().enumerate() {
            let id = SignalId {
                request: *number,
                index,
            };
            let copies = copies.get(&id).copied().unwrap_or_default();
            let expected = expected_copies(FoundSignal { request, sent });
            if let Some(violation) = violation(copies, &expected) {
                let outcome = request.outcome;
                let text = format!(
                    "signal {index} of request {number}, {outcome:?}: stored {copies} times"
                );
                report.add(violation, Subject::Request(*number), text);
            }
        }
    }
}

/// How often a signal may be stored, by what its client knows.
fn expected_copies(signal: FoundSignal<'_>) -> RangeInclusive<u64> {
    if signal.sent.is_rejected {
        return 0..=0;
    }
    match signal.request.outcome {
        ClientOutcome::Rejected => 0..=0,
        ClientOutcome::Acknowledged(_) => 1..=1,
        ClientOutcome::Unknown => 0..=1,
    }
}

/// What is wrong with the number of copies of a signal, if anything is.
fn violation(copies: u64, expected: &RangeInclusive<u64>) -> Option<Violation> {
    if expected.contains(&copies) {
        None
    } else if copies < *expected.start() {
        Some(Violation::Lost)
    } else if *expected.end() == 0 {
        Some(Violation::Phantom)
    } else {
        Some(Violation::Duplicate)
    }
}

/// What is wrong with an item of this signal, if anything is.
fn contradiction(signal: FoundSignal<'_>, item: &StoredSignal) -> Option<&'static str> {
    let FoundSignal { request, sent } = signal;
    if item.contradiction.is_some() {
        return item.contradiction;
    }
    if !sent.is_rejected && item.content != sent.content {
        return Some("it does not hold what was sent");
    }
    let named = request.identifier.as_ref();
    if named.is_some_and(|named| *named != item.identifier) {
        return Some("its requestIdentifier is not the client's");
    }
    let earliest = request.sent.saturating_sub(MILLISECOND);
    let latest = match request.outcome {
        ClientOutcome::Acknowledged(_) => request.latest_clock,
        ClientOutcome::Rejected | ClientOutcome::Unknown => Micros::MAX,
    };
    if !(earliest..=latest).contains(&item.received_at) {
        return Some("its time is not that of its arrival");
    }
    None
}

/// Every rejected signal is kept once, as it was sent. A retry on the same UTC day keeps one record
/// of it.
pub(super) fn check_rejected(record: &RunRecord, stored: &Stored, report: &mut Report) {
    let mut kept = BTreeSet::new();
    for item in &stored.rejected {
        let id = SignalId::new(item.request, item.index);
        let is_as_sent = id
            .find(record)
            .is_some_and(|found| found.sent.is_rejected && found.sent.content == item.content);
        if !is_as_sent {
            let text = format!("{item:?} was not rejected as it was sent");
            report.add(Violation::Phantom, Subject::Request(item.request), text);
            continue;
        }
        let is_first = kept.insert(id);
        if !is_first {
            let text = format!("{item:?} is kept twice");
            report.add(Violation::Duplicate, Subject::Request(item.request), text);
        }
    }
    let mut requests_with_unkept = Vec::new();
    for (number, request) in &record.requests {
        let is_answered = request.outcome != ClientOutcome::Unknown;
        let is_kept = |index: usize| {
            kept.contains(&SignalId {
                request: *number,
                index,
            })
        };
        let mut signals = request.signals.iter().enumerate();
        let has_unkept = signals.any(|(index, sent)| sent.is_rejected && !is_kept(index));
        if is_answered && has_unkept {
            requests_with_unkept.push(number);
        }
    }
    // The log does not name signals: as many requests may lack some as the log has lines.
    let logged = usize::try_from(record.unkept).unwrap_or(usize::MAX);
    for number in requests_with_unkept.into_iter().skip(logged) {
        let text = format!("request {number}");
        report.add(Violation::Unkept, Subject::Request(*number), text);
    }
}

/// The signals of each customer and each emitter are in the order in which they were sent.
pub(super) fn check_order(record: &RunRecord, stored: &Stored, report: &mut Report) {
    let histories = stored.signals.chunk_by(|a, b| a.subject == b.subject);
    for signals in histories {
        check_order_of_one(record, signals, report);
    }
}

/// Checks the signals of one customer or emitter. Their keys have milliseconds, so requests of the
/// same millisecond are in no order.
fn check_order_of_one(record: &RunRecord, signals: &[StoredSignal], report: &mut Report) {
    let millis = |moment: Micros| moment / MILLISECOND;
    let mut latest_sent = 0;
    let mut before: Option<&StoredSignal> = None;
    for found in signals {
        let Some(request) = record.requests.get(&found.request) else {
            continue;
        };
        let is_after_its_request_so_far = before
            .is_none_or(|before| before.request != found.request || before.index < found.index);
        let is_after_earlier_requests = match request.outcome {
            ClientOutcome::Acknowledged(_) => millis(request.latest_clock) >= millis(latest_sent),
            ClientOutcome::Rejected | ClientOutcome::Unknown => true,
        };
        if !is_after_its_request_so_far || !is_after_earlier_requests {
            let text = format!("{found:?} stands after {before:?}");
            report.add(Violation::OutOfOrder, Subject::Request(found.request), text);
        }
        latest_sent = latest_sent.max(request.sent);
        before = Some(found);
    }
}
