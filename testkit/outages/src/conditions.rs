//! The ways in which DynamoDB fails. Must not know what is sent, but for the id of the hot customer.

use std::time::{Duration, Instant};

use fault_proxy::{Fault, Plan, Rule};
use testkit::Tables;

use crate::traffic::{HOT_CUSTOMER_KEY, Kind};

/// How often a burst is repeated.
const BURSTS_EVERY: Duration = Duration::from_secs(5);

/// A call that takes between two times takes one of this many, each as often as the others.
const STEPS: u32 = 8;

/// A condition of DynamoDB.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// In the table.
    pub(crate) name: String,
    rules: Vec<Rule>,
    /// How long a burst lasts; without it, the fault lasts as long as the run.
    burst: Option<Duration>,
    pub(crate) disturbance: Disturbance,
}

/// What a condition needs beside faults of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Nothing.
    None,
    /// Every tenth request is for one customer. It is not counted, but for the environment that it
    /// holds.
    HotCustomer,
    /// Idle connections are lost when the fault begins, and neither end hears of it.
    LostConnections,
}

/// A time in which DynamoDB fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// From here on.
    pub(crate) begin: Instant,
    /// Until here.
    pub(crate) end: Instant,
}

impl Condition {
    /// No fault.
    pub(crate) fn control() -> Self {
        Self::of("no fault", [])
    }

    /// All others.
    pub(crate) fn all(kind: Kind) -> Vec<Self> {
        let hanging_and_slow = [Fault::Stall.in_share(0.1)]
            .into_iter()
            .chain(takes(200..600));
        let mut all = vec![
            Self::of(
                "a tenth of the calls hangs, the others take 200 to 600 ms",
                hanging_and_slow,
            ),
            Self::of("throttles 90 %", [Fault::Throttled.in_share(0.9)]),
            Self::of("throttles 70 %", [Fault::Throttled.in_share(0.7)]),
            Self::of("500s for 4 of 5 seconds", [FAILS.always()]).for_burst(Duration::from_secs(4)),
            Self::of("takes 200 to 900 ms", takes(200..900)),
            Self::of("takes 600 to 1,500 ms", takes(600..1_500)),
        ];
        let (outage, table) = ([Fault::Stall, Fault::Throttled, FAILS], kind.table());
        all.extend(
            outage.map(|fault| Self::of(format!("outage: {}", name_of(fault)), [fault.always()])),
        );
        all.extend(outage.map(|fault| {
            let rule = fault.always().about(Tables::name(table));
            Self::of(
                format!("outage of {table} alone: {}", name_of(fault)),
                [rule],
            )
        }));
        for millis in [200, 500, 1_000, 2_000] {
            for fault in [FAILS, Fault::ResetBefore, Fault::Throttled] {
                let lasts = Duration::from_millis(millis);
                let name = format!("burst of {} s: {}", lasts.as_secs_f64(), name_of(fault));
                all.push(Self::of(name, [fault.always()]).for_burst(lasts));
            }
        }
        all.push(Self {
            disturbance: Disturbance::HotCustomer,
            ..Self::of(
                "a hot customer is throttled, the table takes 200 to 1,500 ms: the other customers",
                hot_customer().into_iter().chain(takes(200..1_500)),
            )
        });
        all.push(Self {
            disturbance: Disturbance::LostConnections,
            ..Self::of("20 idle connections were lost in a freeze", [])
        });
        all
    }

    fn of(name: impl Into<String>, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self {
            name: name.into(),
            rules: rules.into_iter().collect(),
            burst: None,
            disturbance: Disturbance::None,
        }
    }

    fn for_burst(self, lasts: Duration) -> Self {
        Self {
            burst: Some(lasts),
            ..self
        }
    }

    /// The times in which DynamoDB fails, in a run of which `whole` is to be measured.
    pub(crate) fn windows(&self, whole: Window) -> Vec<Window> {
        let Some(burst) = self.burst else {
            return vec![whole];
        };
        let begins = (0..)
            .map(|number| whole.begin + BURSTS_EVERY * number)
            .take_while(|begin| *begin < whole.end);
        begins
            .map(|begin| Window {
                begin,
                end: whole.end.min(begin + burst),
            })
            .collect()
    }

    /// What the proxy in front of DynamoDB does in these times.
    pub(crate) fn plan(&self, windows: &[Window]) -> Plan {
        let rules = windows.iter().flat_map(|window| {
            self.rules
                .iter()
                .map(|rule| rule.clone().within(window.begin, window.end))
        });
        Plan::of(rules)
    }
}

impl Window {
    /// Whether something between these times was under way in it.
    pub(crate) fn overlaps(&self, began: Instant, ended: Instant) -> bool {
        began < self.end && ended > self.begin
    }
}

const FAILS: Fault = Fault::InternalServerError;

fn name_of(fault: Fault) -> &'static str {
    match fault {
        Fault::Stall => "hangs",
        Fault::Throttled => "throttles",
        Fault::ResetBefore => "resets connections",
        _ => "500s",
    }
}

/// Every call takes between these milliseconds, chosen by chance.
fn takes(millis: std::ops::Range<u32>) -> Vec<Rule> {
    let step = (millis.end - millis.start) / (STEPS - 1);
    let rule = |number: u32| {
        let delay = Duration::from_millis(u64::from(millis.start + step * number));
        // Of the calls that no rule before this one is about.
        Fault::Slow(delay).in_share(1.0 / f64::from(STEPS - number))
    };
    (0..STEPS).map(rule).collect()
}

/// The partition of one customer is throttled.
fn hot_customer() -> [Rule; 2] {
    [
        Fault::UnprocessedWhere(HOT_CUSTOMER_KEY).where_body_has(HOT_CUSTOMER_KEY),
        Fault::Throttled.where_body_has(HOT_CUSTOMER_KEY),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_begin_every_five_seconds_and_end_with_the_run() {
        let begin = Instant::now();
        let whole = Window {
            begin,
            end: begin + Duration::from_secs(11),
        };
        let condition = Condition::control().for_burst(Duration::from_secs(2));
        let seconds: Vec<_> = condition
            .windows(whole)
            .iter()
            .map(|window| [window.begin, window.end].map(|at| (at - begin).as_secs()))
            .collect();
        assert_eq!(seconds, [[0, 2], [5, 7], [10, 11]]);
        assert_eq!(Condition::control().windows(whole).len(), 1);
    }

    #[test]
    fn names_of_conditions_differ() {
        for kind in Kind::ALL {
            let mut names: Vec<_> = Condition::all(kind)
                .into_iter()
                .map(|condition| condition.name)
                .collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
