//! Looks for a shorter run of a seed that breaks the same promise: leaves out what the run can do
//! without. What is left is the same run as before, as far as it can be: each call has draws of its own.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::run::{RunOptions, RunResult, run_seed};
use crate::scenario::Scenario;

/// Something that is left out of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// What clients send after so many milliseconds.
    After(u64),
    Client(u64),
    /// A rule of the faults.
    Rule(usize),
    Imports,
    Erasures,
    Kills,
    Clocks,
    LostResponses,
}

/// Cuts that have a name and no number.
const NAMED: [(&str, Cut); 5] = [
    ("imports", Cut::Imports),
    ("erasures", Cut::Erasures),
    ("kills", Cut::Kills),
    ("clocks", Cut::Clocks),
    ("lost-responses", Cut::LostResponses),
];

/// As `--without` takes it.
impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(millis) => write!(f, "after-{millis}"),
            Self::Client(number) => write!(f, "client-{number}"),
            Self::Rule(number) => write!(f, "rule-{number}"),
            named => {
                let name = NAMED.iter().find(|(_, cut)| cut == named);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, cut)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*cut);
        }
        let unknown = || {
            let names = NAMED.map(|(name, _)| name).join(", ");
            format!("it is none of after-MILLISECONDS, client-N, rule-N, {names}")
        };
        let (kind, number) = text.split_once('-').ok_or_else(unknown)?;
        let number: u32 = number.parse().map_err(|_| unknown())?;
        match kind {
            "after" => Ok(Self::After(number.into())),
            "client" => Ok(Self::Client(number.into())),
            "rule" => Ok(Self::Rule(number as usize)),
            _ => Err(unknown()),
        }
    }
}

impl Cut {
    /// Leaves it out of a scenario.
    pub(crate) fn apply(self, scenario: &mut Scenario) {
        match self {
            Self::After(millis) => {
                scenario.lasts = scenario.lasts.min(Duration::from_millis(millis));
            }
            Self::Client(number) => {
                scenario.absent_clients.insert(number);
            }
            Self::Rule(number) => {
                if let Some(rule) = scenario.faults.0.get_mut(number) {
                    rule.during.end = rule.during.start;
                }
            }
            Self::Imports => scenario.import_pause = None,
            Self::Erasures => scenario.erasing_operators = 0,
            Self::Kills => scenario.lifetimes.kills = 0.0,
            Self::Clocks => scenario.lifetimes.have_clocks = false,
            Self::LostResponses => scenario.lost_responses = 0.0,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_is_read_as_it_is_printed_and_another_text_is_refused() {
        let numbered = [Cut::After(1_500), Cut::Client(3), Cut::Rule(17)];
        for cut in numbered.into_iter().chain(NAMED.map(|(_, cut)| cut)) {
            assert_eq!(cut.to_string().parse(), Ok(cut));
        }
        for text in ["", "client", "client-x", "rules-1"] {
            assert!(text.parse::<Cut>().is_err(), "{text}");
        }
    }

    #[test]
    fn cuts_together_have_each_once_and_the_earliest_end() {
        let cuts = [Cut::Kills, Cut::After(900)];
        let more = [Cut::After(1_200), Cut::Kills, Cut::After(300), Cut::Rule(1)];
        let expected = vec![Cut::Kills, Cut::Rule(1), Cut::After(300)];
        assert_eq!(with(&cuts, &more), expected);
        assert_eq!(with(&cuts, &[Cut::After(1_200)]), cuts);
    }

    #[test]
    fn run_without_its_rules_has_no_fault_and_one_that_ends_early_has_fewer_requests() {
        let run = |cuts| {
            let options = RunOptions {
                cuts,
                ..RunOptions::default()
            };
            run_seed(3, &options)
        };
        let whole = run(Vec::new());
        assert!(whole.faulted > 0);
        let rules = Scenario::of_seed(3).faults.0.len();
        assert_eq!(run((0..rules).map(Cut::Rule).collect()).faulted, 0);
        let ends_early = run(vec![Cut::After(500)]);
        assert!(ends_early.requests < whole.requests);
    }
}
