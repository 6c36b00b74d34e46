//! What the checker found: how often each kind of violation occurs, and examples. This module must
//! not know how a violation is found.

use std::collections::BTreeMap;
use std::fmt;

/// Examples that a report keeps of each kind of violation.
const EXAMPLES: usize = 5;

/// A way in which what is stored contradicts the record of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// A signal was acknowledged and is not stored.
    Lost,
    /// A signal is stored more than once.
    Duplicate,
    /// A signal is stored with another content, requestIdentifier or time.
    Wrong,
    /// A signal was rejected and is not kept, and no line of the log says so.
    Unkept,
    /// Something is stored that was rejected, or never sent.
    Phantom,
    /// A signal is stored before an earlier one.
    OutOfOrder,
    /// A field of a customer has a value that no order of the writes explains.
    Stale,
}

/// What a violation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The request with this number.
    Request(u64),
    /// The customer with this number.
    Customer(u32),
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Signals that were acknowledged as accepted.
    pub acknowledged: u64,
    /// Signals that were rejected.
    pub rejected: u64,
    /// Signals of which the client knows nothing.
    pub unknown: u64,
    /// Fields of customers that were compared.
    pub fields: u64,
    counts: BTreeMap<Violation, u64>,
    /// The first five of each kind, and what was found.
    examples: Vec<ViolationExample>,
}

#[derive(Clone, Debug)]
struct ViolationExample {
    violation: Violation,
    subject: Subject,
    text: String,
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

    /// The first violation, if there is one, and what it is about.
    pub fn first_violation(&self) -> Option<(Violation, Subject)> {
        let first = self.examples.first()?;
        Some((first.violation, first.subject))
    }

    /// Adds a violation.
    pub fn add(&mut self, violation: Violation, subject: Subject, text: impl FnOnce() -> String) {
        let count = self.counts.entry(violation).or_default();
        *count += 1;
        if *count <= EXAMPLES as u64 {
            let text = text();
            self.examples.push(ViolationExample {
                violation,
                subject,
                text,
            });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = self.count(Violation::Lost);
        let twice = self.count(Violation::Duplicate);
        let wrong = self.count(Violation::Wrong);
        let phantom = self.count(Violation::Phantom);
        let disorder = self.count(Violation::OutOfOrder);
        let unkept = self.count(Violation::Unkept);
        let stale = self.count(Violation::Stale);
        let Self {
            acknowledged,
            rejected,
            unknown,
            fields,
            ..
        } = self;
        write!(
            f,
            "{acknowledged} signals acknowledged, {rejected} rejected, {unknown} unknown: \
             {lost} lost, {twice} twice, {wrong} wrong, {phantom} phantom, {disorder} out of order, {unkept} not kept; \
             {fields} customer fields: {stale} stale"
        )?;
        for example in &self.examples {
            let ViolationExample {
                violation, text, ..
            } = example;
            write!(f, "\n  {violation:?}: {text}")?;
        }
        Ok(())
    }
}
