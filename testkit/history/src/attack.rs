//! Outages of all tables, each over a new deployment that scales: which share of the signals of clients that never retry is lost
//! (docs/internals/outages.md, Outages). Must not know how a run is done.

use std::path::Path;
use std::time::Duration;

use fault_proxy::Fault;

use crate::options::{Options, Outage, Rate};

/// How long clients send before an outage, and after one that ends.
const AROUND: Duration = Duration::from_secs(10);

/// How long an outage is seen that does not end.
const FOR_GOOD: Duration = Duration::from_mins(1);

/// The names of the rows of the table, and their runs.
pub fn attacks(programs: &Path, seed: u64) -> impl Iterator<Item = (&'static str, Options)> {
    let (some, millis) = (Duration::from_secs, Duration::from_millis);
    let of_batches = [
        ("hangs for 30 s", Fault::Stall, some(30), 2, None),
        ("hangs for 30 s", Fault::Stall, some(30), 10, None),
        ("hangs for good", Fault::Stall, FOR_GOOD, 10, None),
        ("throttles for 10 s", Fault::Throttled, some(10), 10, None),
        ("throttles for good", Fault::Throttled, FOR_GOOD, 10, None),
        ("500s for good, a process replaced after 50 requests", Fault::InternalServerError, FOR_GOOD, 10, Some(50)),
        ("500s for good, a process replaced after 10 requests", Fault::InternalServerError, FOR_GOOD, 10, Some(10)),
    ];
    let of_updates = [
        ("hangs for 10 s", Fault::Stall, some(10), None, false),
        ("throttles for 10 s", Fault::Throttled, some(10), None, false),
        ("500s for 10 s", Fault::InternalServerError, some(10), None, false),
        ("Customers alone throttles for 10 s", Fault::Throttled, some(10), Some("CustomersTable"), false),
        ("500s for 0.2 s", Fault::InternalServerError, millis(200), None, false),
        ("500s for 0.5 s", Fault::InternalServerError, millis(500), None, false),
        ("500s for 1 s", Fault::InternalServerError, some(1), None, false),
        ("500s for 2 s", Fault::InternalServerError, some(2), None, false),
        ("connections reset for 0.5 s", Fault::ResetBefore, millis(500), None, false),
        ("connections reset for 2 s", Fault::ResetAfter, some(2), None, false),
        ("500s every other second for 10 s", Fault::InternalServerError, some(10), None, true),
    ];
    let of_batches = of_batches.map(|(name, fault, lasts, per_second, replaced_after)| {
        let before_end = if lasts == FOR_GOOD { Duration::ZERO } else { AROUND };
        let outage = Outage { fault, table: None, is_flapping: false, after: AROUND, lasts, before_end };
        (name, outage, Rate { per_second, of_updates: false }, replaced_after)
    });
    let of_updates = of_updates.map(|(name, fault, lasts, table, is_flapping)| {
        let outage = Outage { fault, table, is_flapping, after: AROUND, lasts, before_end: AROUND };
        (name, outage, Rate { per_second: 20, of_updates: true }, None)
    });
    of_batches.into_iter().chain(of_updates).map(move |(name, outage, rate, replaced_after)| {
        let options = Options {
            signals: 0,
            kills: 0,
            faults: 0.0,
            outage: Some(outage),
            replaced_after,
            rate: Some(rate),
            seed,
            programs: programs.to_owned(),
        };
        (name, options)
    })
}
