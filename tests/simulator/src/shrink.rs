//! Looks for a shorter run of a seed that breaks the same promise: leaves out what the run can do
//! without. What is left is the same run as before, as far as it can be: each call has draws of its own.

use crate::cut::{Cut, NAMED};
use crate::run::{RunOptions, RunResult, run_seed};
use crate::scenario::Scenario;

/// Looks for cuts after which the run of a seed still breaks the same promise. Hands each shorter run
/// to `report`.
///
/// # Panics
/// When the seed breaks no promise with the first cuts.
pub fn shrink(seed: u64, first: Vec<Cut>, mut report: impl FnMut(&RunResult, &[Cut])) -> Vec<Cut> {
    let run = |cuts: &[Cut]| {
        let options = RunOptions {
            cuts: cuts.to_vec(),
            ..RunOptions::default()
        };
        run_seed(seed, &options)
    };
    let whole = run(&first);
    let wanted = whole.broken.first().expect("the seed breaks a promise");
    let mut cuts = first;
    for candidates in groups(&Scenario::of_seed(seed)) {
        // First all of a group, then halves, and at last one after another.
        let mut size = candidates.len().max(1);
        loop {
            for part in candidates.chunks(size) {
                let shorter = with(&cuts, part);
                if shorter == cuts {
                    continue;
                }
                let result = run(&shorter);
                let first = result.broken.first();
                if first.is_some_and(|broken| broken.promise == wanted.promise) {
                    cuts = shorter;
                    report(&result, &cuts);
                }
            }
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
    }
    cuts
}

/// All cuts together, with the earliest end as the last one.
fn with(cuts: &[Cut], more: &[Cut]) -> Vec<Cut> {
    let mut all = cuts.to_vec();
    all.extend(more.iter().filter(|cut| !cuts.contains(cut)));
    let ends = all.iter().filter_map(|cut| match cut {
        Cut::After(millis) => Some(*millis),
        _ => None,
    });
    let earliest = ends.min();
    all.retain(|cut| !matches!(cut, Cut::After(_)));
    all.extend(earliest.map(Cut::After));
    all
}

/// What may be left out, in the order in which it is tried.
fn groups(scenario: &Scenario) -> [Vec<Cut>; 4] {
    let millis = u64::try_from(scenario.lasts.as_millis()).unwrap_or(u64::MAX);
    // From long to short: the last one that still breaks the promise counts.
    let ends = (1..=16).map(|part| Cut::After(millis - millis * part / 17));
    let clients = scenario.signal_clients + scenario.customer_clients;
    [
        ends.collect(),
        (0..clients).map(Cut::Client).collect(),
        (0..scenario.faults.0.len()).map(Cut::Rule).collect(),
        NAMED.map(|(_, cut)| cut).to_vec(),
    ]
}
