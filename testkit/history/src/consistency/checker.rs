//! What must hold at the end of a history. Must not know how the service works.
//!
//! - An acknowledged signal is stored exactly once, a refused one not at all, and one of which the
//!   client knows nothing at most once. Nothing is stored that was not sent. Each item holds what
//!   was sent, to the last digit, under the client's requestIdentifier, with the time of its
//!   arrival and of its expiry.
//! - A refused signal is kept once as it was sent, unless the function logged that it could not
//!   keep it.
//! - Within a history (of one customer or emitter), signals of a request stand in their order, and
//!   a request that was acknowledged before another was sent stands before it.
//! - Each field of a customer holds what some order of its writes explains that respects real time:
//!   a write that was acknowledged before another was sent comes before it. A write that was never
//!   acknowledged may come at any time after it was sent, or never. The clocks of the processes may
//!   order a deferred write, or one that the client sent again, and the other writes of the same
//!   field. A clock by which another field was written has no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::record::{History, Micros, Outcome, Request, Sent, Stored, StoredSignal, Update};

/// Examples that a report keeps of each kind of violation.
const EXAMPLES: usize = 5;

/// Times are stored in milliseconds.
const MILLISECOND: Micros = 1_000;

/// What does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Acknowledged and not stored.
    Lost,
    /// Stored more than once.
    Duplicate,
    /// Stored with another content, requestIdentifier or time.
    Wrong,
    /// Refused and not kept, without a word in the log.
    Unkept,
    /// Stored although it was refused, or never sent.
    Phantom,
    /// Stored before what came before it.
    OutOfOrder,
    /// A field that no order of the writes explains.
    Stale,
}

/// What came of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Signals that were acknowledged as accepted.
    pub acknowledged: u64,
    /// Signals that were refused.
    pub refused: u64,
    /// Signals of which the client knows nothing.
    pub unknown: u64,
    /// Fields of customers that were compared.
    pub fields: u64,
    counts: BTreeMap<Violation, u64>,
    /// The first five of each kind, and what was found.
    examples: Vec<(Violation, String)>,
}

impl Report {
    /// How often something does not hold.
    pub fn count(&self, violation: Violation) -> u64 {
        self.counts.get(&violation).copied().unwrap_or_default()
    }

    /// Whether everything holds.
    pub fn holds(&self) -> bool {
        self.counts.is_empty()
    }

    fn add(&mut self, violation: Violation, text: impl FnOnce() -> String) {
        let count = self.counts.entry(violation).or_default();
        *count += 1;
        if *count <= EXAMPLES as u64 {
            self.examples.push((violation, text()));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Violation::{Duplicate, Lost, OutOfOrder, Phantom, Stale, Unkept, Wrong};
        let [lost, twice, wrong, phantom, disorder, unkept, stale] =
            [Lost, Duplicate, Wrong, Phantom, OutOfOrder, Unkept, Stale]
                .map(|violation| self.count(violation));
        let Self {
            acknowledged,
            refused,
            unknown,
            fields,
            ..
        } = self;
        write!(
            f,
            "{acknowledged} signals acknowledged, {refused} refused, {unknown} unknown: \
             {lost} lost, {twice} twice, {wrong} wrong, {phantom} phantom, {disorder} out of order, {unkept} not kept; \
             {fields} customer fields: {stale} stale"
        )?;
        self.examples
            .iter()
            .try_for_each(|(violation, text)| write!(f, "\n  {violation:?}: {text}"))
    }
}

/// Compares what was noted with what is stored.
pub fn check(history: &History, stored: &Stored) -> Report {
    let mut report = Report::default();
    check_presence(history, stored, &mut report);
    for one in stored.signals.chunk_by(|a, b| a.who == b.who) {
        check_order(history, one, &mut report);
    }
    check_rejected(history, stored, &mut report);
    check_fields(history, stored, &mut report);
    report
}

fn check_presence(history: &History, stored: &Stored, report: &mut Report) {
    let mut copies: BTreeMap<u64, Vec<u64>> = history
        .requests
        .iter()
        .map(|(number, request)| (*number, vec![0; request.signals.len()]))
        .collect();
    for found in &stored.signals {
        let index = usize::try_from(found.index).unwrap_or(usize::MAX);
        let sent = history
            .requests
            .get(&found.request)
            .and_then(|request| request.signals.get(index));
        let Some(sent) = sent.filter(|sent| Some(sent.who) == found.who) else {
            report.add(Violation::Phantom, || format!("{found:?} was not sent"));
            continue;
        };
        if let Some(what) = history
            .requests
            .get(&found.request)
            .and_then(|request| wrong(request, sent, found))
        {
            report.add(Violation::Wrong, || format!("{found:?}: {what}"));
        }
        if let Some(copies) = copies
            .get_mut(&found.request)
            .and_then(|copies| copies.get_mut(index))
        {
            *copies += 1;
        }
    }
    for (number, request) in &history.requests {
        for (index, sent) in request.signals.iter().enumerate() {
            let copies = copies
                .get(number)
                .and_then(|copies| copies.get(index))
                .copied()
                .unwrap_or_default();
            let text = || {
                format!(
                    "signal {index} of request {number}, {:?}: stored {copies} times",
                    request.outcome
                )
            };
            let (total, at_least, at_most) = match request.outcome {
                _ if sent.refused => (&mut report.refused, 0, 0),
                Outcome::Refused => (&mut report.refused, 0, 0),
                Outcome::Acknowledged(_) => (&mut report.acknowledged, 1, 1),
                Outcome::Unknown => (&mut report.unknown, 0, 1),
            };
            *total += 1;
            if copies < at_least {
                report.add(Violation::Lost, text);
            } else if copies > at_most {
                report.add(
                    if at_most == 0 {
                        Violation::Phantom
                    } else {
                        Violation::Duplicate
                    },
                    text,
                );
            }
        }
    }
}

/// What is wrong with an item of this signal.
fn wrong(request: &Request, sent: &Sent, found: &StoredSignal) -> Option<&'static str> {
    let earliest = request.sent.saturating_sub(MILLISECOND);
    let latest = match request.outcome {
        Outcome::Acknowledged(_) => request.latest_clock,
        Outcome::Refused | Outcome::Unknown => Micros::MAX,
    };
    if found.contradiction.is_some() {
        found.contradiction
    } else if !sent.refused && found.content != sent.content {
        Some("it does not hold what was sent")
    } else if request
        .identifier
        .as_ref()
        .is_some_and(|named| *named != found.identifier)
    {
        Some("its requestIdentifier is not the client's")
    } else if !(earliest..=latest).contains(&found.received_at) {
        Some("its time is not that of its arrival")
    } else {
        None
    }
}

/// A retry on the same UTC day keeps one record of a rejected signal.
fn check_rejected(history: &History, stored: &Stored, report: &mut Report) {
    let mut kept = BTreeSet::new();
    for found in &stored.rejected {
        let index = usize::try_from(found.index).unwrap_or(usize::MAX);
        let sent = history
            .requests
            .get(&found.request)
            .and_then(|request| request.signals.get(index));
        if sent.is_none_or(|sent| !sent.refused || sent.content != found.content) {
            report.add(Violation::Phantom, || {
                format!("{found:?} was not rejected as it was sent")
            });
        } else if !kept.insert((found.request, index)) {
            report.add(Violation::Duplicate, || format!("{found:?} is kept twice"));
        }
    }
    let is_answered = |request: &Request| !matches!(request.outcome, Outcome::Unknown);
    let is_kept = |number: u64, request: &Request| {
        request
            .signals
            .iter()
            .enumerate()
            .all(|(index, sent)| !sent.refused || kept.contains(&(number, index)))
    };
    let unkept = history
        .requests
        .iter()
        .filter(|(number, request)| is_answered(request) && !is_kept(**number, request));
    // The log does not name signals: as many requests may lack some as the log has lines.
    let unlogged = usize::try_from(history.unkept).unwrap_or(usize::MAX);
    for (number, _) in unkept.skip(unlogged) {
        report.add(Violation::Unkept, || format!("request {number}"));
    }
}

/// `one` is one history. Keys have milliseconds, so that requests of one millisecond are in no
/// order.
fn check_order(history: &History, one: &[StoredSignal], report: &mut Report) {
    let millis = |moment: Micros| moment / MILLISECOND;
    let mut latest_sent = 0;
    let mut before: Option<&StoredSignal> = None;
    for found in one {
        let Some(request) = history.requests.get(&found.request) else {
            continue;
        };
        let in_request = before
            .is_none_or(|before| before.request != found.request || before.index < found.index);
        let in_time = match request.outcome {
            Outcome::Acknowledged(_) => millis(request.latest_clock) >= millis(latest_sent),
            Outcome::Refused | Outcome::Unknown => true,
        };
        if !in_request || !in_time {
            report.add(Violation::OutOfOrder, || {
                format!("{found:?} stands after {before:?}")
            });
        }
        latest_sent = latest_sent.max(request.sent);
        before = Some(found);
    }
}

/// A write of one field.
#[derive(Debug)]
struct Write<'a> {
    value: Option<&'a str>,
    sent: Micros,
    /// Until when it took effect; `None` for one that may at any time.
    until: Option<Micros>,
    latest_clock: Micros,
    is_deferred: bool,
    is_repeated: bool,
}

impl<'a> Write<'a> {
    /// The write of a field to `value` by this update.
    fn new(update: &Update, value: Option<&'a str>) -> Self {
        let until = match update.outcome {
            Outcome::Acknowledged(at) => Some(at),
            Outcome::Unknown | Outcome::Refused => None,
        };
        Self {
            value,
            sent: update.sent,
            until,
            latest_clock: update.latest_clock,
            is_deferred: update.is_deferred,
            is_repeated: update.is_repeated,
        }
    }

    /// Whether this write of a field may be the last of all.
    fn may_be_last(&self, all: &[Self]) -> bool {
        let Some(until) = self.until else {
            return true;
        };
        // A write goes above the fence that the field has, so an earlier write by a clock that is
        // ahead counts, too.
        let before = all.iter().filter(|other| other.sent <= until);
        let latest_clock = before
            .map(|other| other.latest_clock)
            .max()
            .unwrap_or(until);
        let may_follow = |acknowledged: &Self| {
            let is_by_clock = self.is_deferred || self.is_repeated || acknowledged.is_deferred;
            let latest = if is_by_clock { latest_clock } else { until };
            acknowledged.sent <= latest
        };
        all.iter()
            .filter(|other| other.until.is_some())
            .all(may_follow)
    }
}

fn check_fields(history: &History, stored: &Stored, report: &mut Report) {
    let mut writes: BTreeMap<(u32, &str), Vec<Write<'_>>> = BTreeMap::new();
    for update in &history.updates {
        if update.outcome == Outcome::Refused {
            continue;
        }
        for (field, value) in &update.fields {
            let of_field = writes.entry((update.customer, *field)).or_default();
            of_field.push(Write::new(update, value.as_deref()));
        }
    }
    let customers: BTreeSet<u32> = history
        .updates
        .iter()
        .map(|update| update.customer)
        .collect();
    for (customer, fields) in &stored.customers {
        if !customers.contains(customer) {
            report.add(Violation::Phantom, || {
                format!("customer {customer} was not sent")
            });
        }
        for field in fields
            .keys()
            .filter(|field| !writes.contains_key(&(*customer, field.as_str())))
        {
            report.add(Violation::Phantom, || {
                format!("{field} of customer {customer} was not sent")
            });
        }
    }
    for ((customer, field), writes) in &writes {
        report.fields += 1;
        let value = stored
            .customers
            .get(customer)
            .and_then(|fields| fields.get(*field))
            .map(String::as_str);
        let is_untouched = value.is_none() && writes.iter().all(|write| write.until.is_none());
        let is_last = |write: &Write<'_>| write.value == value && write.may_be_last(writes);
        if !is_untouched && !writes.iter().any(is_last) {
            report.add(Violation::Stale, || {
                format!("{field} of customer {customer} is {value:?} after {writes:?}")
            });
        }
    }
}
