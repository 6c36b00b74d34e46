//! What can be left out of a run: its names on the command line, and what it changes of the scenario.
//! Must not know how a run is made.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
pub(crate) const NAMED: [(&str, Cut); 5] = [
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
    /// Checks that a scenario has what is to be left out.
    ///
    /// # Errors
    /// It has no client, or no rule, with this number.
    pub fn ensure_in(self, scenario: &Scenario) -> Result<(), String> {
        let clients = scenario.signal_clients + scenario.customer_clients;
        let rules = scenario.faults.0.len();
        match self {
            Self::Client(number) if number >= clients => Err(format!(
                "the seed has {clients} clients, the first with the number 0"
            )),
            Self::Rule(number) if number >= rules => Err(format!(
                "the seed has {rules} rules, the first with the number 0"
            )),
            _ => Ok(()),
        }
    }

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
