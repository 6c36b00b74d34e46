//! Outages of all tables, each over a new deployment that scales: which share of the signals of clients that never retry is lost
//! (docs/reliability.md, Outages). Must not know how a run is done.

use std::path::Path;
use std::time::Duration;

use fault_proxy::Fault;

use crate::options::{Options, Outage};

/// How long clients send before an outage, and after one that ends.
const AROUND: Duration = Duration::from_secs(10);

/// How long an outage is seen that does not end.
const FOR_GOOD: Duration = Duration::from_mins(1);

/// The names of the rows of the table, and their runs.
pub fn attacks(programs: &Path, seed: u64) -> impl Iterator<Item = (&'static str, Options)> {
    let some = Duration::from_secs;
    let rows = [
        ("hangs for 30 s", Fault::Stall, some(30), 2, None),
        ("hangs for 30 s", Fault::Stall, some(30), 10, None),
        ("hangs for good", Fault::Stall, FOR_GOOD, 10, None),
        ("throttles for 10 s", Fault::Throttled, some(10), 10, None),
        ("throttles for good", Fault::Throttled, FOR_GOOD, 10, None),
        ("500s for good, a process replaced after 50 requests", Fault::InternalServerError, FOR_GOOD, 10, Some(50)),
        ("500s for good, a process replaced after 10 requests", Fault::InternalServerError, FOR_GOOD, 10, Some(10)),
    ];
    rows.into_iter().map(move |(name, fault, lasts, rate, replaced_after)| {
        let before_end = if lasts == FOR_GOOD { Duration::ZERO } else { AROUND };
        let outage = Outage { fault, after: AROUND, lasts, before_end };
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
