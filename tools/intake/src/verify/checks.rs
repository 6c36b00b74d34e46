//! The checks of `verify` with their results, in the order in which the phases add them. Must not
//! know how a check is made.

use std::cell::RefCell;

use serde::Serialize;

use crate::check_result::{CheckOutcome, CheckResult};

/// One check.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    /// The heading of the section of docs/api.md that has the promise.
    pub(super) promise: &'static str,
    pub(super) result: CheckResult,
    /// What was seen, or why it was skipped.
    pub(super) detail: String,
}

#[derive(Default)]
pub(super) struct Checks(RefCell<Vec<Check>>);

impl Checks {
    pub(super) fn add(
        &self,
        promise: &'static str,
        name: impl Into<String>,
        outcome: CheckOutcome,
    ) {
        let check = Check {
            name: name.into(),
            promise,
            result: outcome.result,
            detail: outcome.seen,
        };
        self.0.borrow_mut().push(check);
    }

    /// Adds a check that holds if there are no faults.
    pub(super) fn add_faults(
        &self,
        promise: &'static str,
        name: &str,
        faults: &[String],
        seen: String,
    ) {
        let outcome = match faults.first() {
            None => CheckOutcome::held(seen),
            Some(first) => {
                CheckOutcome::failed(format!("{} case(s); the first: {first}", faults.len()))
            }
        };
        self.add(promise, name, outcome);
    }

    pub(super) fn into_vec(self) -> Vec<Check> {
        self.0.into_inner()
    }
}
