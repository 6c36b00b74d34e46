//! The consistency checker reports each violation of a broken run.

mod customers;
mod items;
mod signals;

use consistency::checker::{Report, Violation};

const VIOLATIONS: [Violation; 7] = [
    Violation::Lost,
    Violation::Duplicate,
    Violation::Wrong,
    Violation::Phantom,
    Violation::OutOfOrder,
    Violation::Unkept,
    Violation::Stale,
];

#[track_caller]
fn assert_consistent(report: &Report) {
    for violation in VIOLATIONS {
        assert_eq!(report.count(violation), 0, "{violation:?}: {report}");
    }
    assert!(report.holds(), "{report}");
}

/// Fails unless the report has this violation once and no other.
#[track_caller]
fn assert_only(report: &Report, expected: Violation) {
    for violation in VIOLATIONS {
        let count = u64::from(violation == expected);
        assert_eq!(report.count(violation), count, "{violation:?}: {report}");
    }
    assert!(!report.holds(), "{report}");
}
