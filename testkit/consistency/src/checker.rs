//! What must hold at the end of a run.
//!
//! - An acknowledged signal is stored exactly once, a rejected one not at all, and one of which the
//!   client knows nothing at most once. Nothing is stored that was not sent. Each item holds what
//!   was sent, to the last digit, under the client's requestIdentifier, with the time of its
//!   arrival and of its expiry. All signals of a request have one requestIdentifier and one time.
//! - A rejected signal is stored once as it was sent, unless the function logged that it could not
//!   keep it.
//! - Within a history (of one customer or emitter), signals of a request stand in their order, and
//!   a request that was acknowledged before another was sent stands before it.
//! - Each field of a customer holds what some order of its writes explains that respects real time:
//!   a write that was acknowledged before another was sent comes before it. A write that was never
//!   acknowledged may come at any time after it was sent, or never. The clocks of the processes may
//!   order a deferred write, or one that the client sent again, and the other writes of the same
//!   field. A clock by which another field was written has no effect.

mod customers;
mod signals;

pub use super::report::{FoundViolation, Report, Subject, Violation};
use super::run_record::{RunRecord, Stored};

/// Compares what the clients recorded with what is stored.
pub fn check(record: &RunRecord, stored: &Stored) -> Report {
    let mut report = Report::default();
    signals::check_copies(record, stored, &mut report);
    signals::check_order(record, stored, &mut report);
    signals::check_rejected(record, stored, &mut report);
    customers::check_fields(record, stored, &mut report);
    report
}
