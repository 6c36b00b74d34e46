//! The consistency checker reports each violation of a broken run.

mod customers;
mod items;
mod signals;

use consistency::checker::{Report, Violation};

/// How often something does not hold.
fn count(report: &Report, violation: Violation) -> usize {
    let found = report.0.iter();
    found.filter(|found| found.violation == violation).count()
}

#[track_caller]
fn assert_consistent(report: &Report) {
    assert!(report.holds(), "{report}");
}

/// Fails unless the report has this violation once and no other.
#[track_caller]
fn assert_only(report: &Report, expected: Violation) {
    let found: Vec<_> = report.0.iter().map(|found| found.violation).collect();
    assert_eq!(found, [expected], "{report}");
    assert!(!report.holds());
}
