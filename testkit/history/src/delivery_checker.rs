//! What must hold of the delivery at the end of a history. Must not know how it is done.
//!
//! - Each target took every stored signal, at least once.
//! - No target took a signal that is not stored, or with another content than the stored one. The bus may have a reference in
//!   place of the content; the lake has all of it.
//! - Within a batch, the signals of a customer or emitter came in the order of the stream, repetitions aside.
//!
//! That what is stored is what was sent is the rule of the other checker.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use consistency::{Fingerprint, Micros, StoredSignal};

use sandbox::fake_targets::Target;

/// Examples that a report keeps of each kind of violation.
const EXAMPLES: u64 = 5;

/// The targets of signals.
const TARGETS: [Target; 2] = [Target::Bus, Target::Lake];

/// A signal as a target took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredSignal {
    /// Who took it.
    pub target: Target,
    /// The invocation that delivered it.
    pub batch: u64,
    /// The position of its record in the stream; `None` when it has none.
    pub position: Option<u32>,
    /// The customer or emitter; `None` when no client sent it.
    pub who: Option<u32>,
    /// What names it: [`key_of`].
    pub key: Fingerprint,
    /// What its item would hold; `None` in a reference.
    pub content: Option<Fingerprint>,
}

/// What names a signal of this customer or emitter.
pub fn key_of(who: Option<u32>, received_at: Micros, identifier: &str, index: u64) -> Fingerprint {
    Fingerprint::of(&format!("{who:?} {received_at} {} {index}", identifier.to_lowercase()))
}

/// What does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Stored, and not taken by a target.
    Undelivered,
    /// Taken by a target, and not stored.
    PhantomDelivery,
    /// Taken with another content than the stored one, or without it.
    AlteredDelivery,
    /// Taken after what comes after it in the stream, in one batch.
    OutOfOrderDelivery,
}

/// What came of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Signals that are stored.
    pub stored: u64,
    /// Signals that the bus and the lake took, each time counted.
    pub taken: [u64; 2],
    /// References among those of the bus.
    pub references: u64,
    counts: BTreeMap<Violation, u64>,
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

    fn add(&mut self, violation: Violation, example: impl FnOnce() -> String) {
        let count = self.counts.entry(violation).or_default();
        *count += 1;
        if *count <= EXAMPLES {
            self.examples.push((violation, example()));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Violation::{AlteredDelivery, OutOfOrderDelivery, PhantomDelivery, Undelivered};
        let [undelivered, phantom, altered, disorder] =
            [Undelivered, PhantomDelivery, AlteredDelivery, OutOfOrderDelivery].map(|violation| self.count(violation));
        let Self { stored, taken: [bus, lake], references, .. } = self;
        write!(
            f,
            "{stored} signals stored, {bus} delivered to the bus, {references} of them as references, {lake} to the lake: \
             {undelivered} undelivered, {phantom} phantom, {altered} altered, {disorder} out of order in their batch"
        )?;
        self.examples.iter().try_for_each(|(violation, example)| write!(f, "\n  {violation:?}: {example}"))
    }
}

/// Compares what the targets took, in the order of its arrival, with what is stored.
pub fn check(stored: &[StoredSignal], mut delivered: Vec<DeliveredSignal>) -> Report {
    let mut report = Report { stored: stored.len() as u64, ..Report::default() };
    check_presence(stored, &delivered, &mut report);
    // Stable: the order of arrival stays.
    delivered.sort_by_key(order_group);
    for group in delivered.chunk_by(|a, b| order_group(a) == order_group(b)) {
        check_order(group, &mut report);
    }
    report
}

fn order_group(signal: &DeliveredSignal) -> (Target, u64, Option<u32>) {
    (signal.target, signal.batch, signal.who)
}

fn check_presence(stored: &[StoredSignal], delivered: &[DeliveredSignal], report: &mut Report) {
    let key = |signal: &StoredSignal| key_of(signal.who, signal.received_at, &signal.identifier, signal.index);
    let mut found: HashMap<_, _> = stored.iter().map(|signal| (key(signal), (signal.content, [false; 2]))).collect();
    for signal in delivered {
        let Some(place) = TARGETS.iter().position(|target| *target == signal.target) else { continue };
        report.taken[place] += 1;
        let Some((content, is_taken)) = found.get_mut(&signal.key) else {
            report.add(Violation::PhantomDelivery, || format!("{signal:?} is not stored"));
            continue;
        };
        is_taken[place] = true;
        let is_reference = signal.target == Target::Bus && signal.content.is_none();
        report.references += u64::from(is_reference);
        if !is_reference && signal.content != Some(*content) {
            report.add(Violation::AlteredDelivery, || format!("{signal:?}"));
        }
    }
    for signal in stored {
        let is_taken = found.get(&key(signal)).map_or([false; 2], |(_, is_taken)| *is_taken);
        for (target, _) in TARGETS.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken) {
            report.add(Violation::Undelivered, || format!("{signal:?}, to the {target:?}"));
        }
    }
}

/// `group` is of one target, one batch, and one customer or emitter.
fn check_order(group: &[DeliveredSignal], report: &mut Report) {
    let (mut taken, mut latest) = (HashSet::new(), None);
    for signal in group {
        // A call that failed after it was taken is made again.
        if taken.insert(signal.position) && signal.position < latest {
            report.add(Violation::OutOfOrderDelivery, || format!("{signal:?} came after position {latest:?}"));
        }
        latest = latest.max(signal.position);
    }
}
