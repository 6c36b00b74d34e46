//! What the checker found. This module must not know how a violation is found.

use std::fmt;

/// Violations that a report prints, at most.
const MAX_LINES: usize = 20;

/// A way in which what is stored contradicts the record of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A signal was acknowledged and is not stored.
    Lost,
    /// A signal is stored more than once.
    Duplicate,
    /// A signal is stored with another content, requestIdentifier or time.
    Wrong,
    /// A signal was rejected and is not stored as a rejected one, and no line of the log says so.
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

/// A violation, what it is about, and what was found.
#[derive(Clone, Debug)]
pub struct FoundViolation {
    pub violation: Violation,
    pub subject: Subject,
    pub text: String,
}

/// The result of a check: all violations, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Report(pub Vec<FoundViolation>);

impl Report {
    /// Whether everything holds.
    pub fn holds(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, violation: Violation, subject: Subject, text: String) {
        self.0.push(FoundViolation {
            violation,
            subject,
            text,
        });
    }
}

/// How many violations there are, and a line for each of the first.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violations", self.0.len())?;
        for found in self.0.iter().take(MAX_LINES) {
            write!(f, "\n  {:?}: {}", found.violation, found.text)?;
        }
        Ok(())
    }
}
