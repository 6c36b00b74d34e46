//! The ways in which DynamoDB fails.

use std::time::{Duration, Instant};

use fault_proxy::{Fault, Plan, Rule};
use testkit::table_name;

use crate::request_kind::RequestKind;
use crate::traffic::HOT_CUSTOMER_KEY;

/// How often a burst is repeated.
const BURSTS_EVERY: Duration = Duration::from_secs(5);

/// A call that takes between two times takes one of this many, each as often as the others.
const STEPS: u32 = 8;

/// A way in which DynamoDB fails, or that it does not fail.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The name that the table prints.
    pub(crate) name: String,
    rules: Vec<Rule>,
    /// How long a burst lasts; without it, the fault lasts as long as the run.
    burst: Option<Duration>,
    pub(crate) disturbance: Disturbance,
}

/// What a condition needs beside faults of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    None,
    /// Every tenth request is for one customer. It is not counted, but for the environment that it
    /// holds.
    HotCustomer,
    /// Idle connections are lost when the fault begins, and neither end hears of it.
    LostConnections,
}

/// A time in which DynamoDB fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeWindow {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

impl Condition {
    /// The condition without a fault.
    pub(crate) fn control() -> Self {
        Self::new("no fault", [])
    }

    /// Whether DynamoDB never fails in it.
    pub(crate) fn is_control(&self) -> bool {
        self.rules.is_empty() && self.disturbance == Disturbance::None
    }

    /// All conditions with a fault.
    pub(crate) fn all(kind: RequestKind) -> Vec<Self> {
        let mut all = Self::partial_faults();
        all.extend(Self::outages(kind));
        all.extend(Self::bursts());
        all.push(Self::hot_customer());
        all.push(Self {
            disturbance: Disturbance::LostConnections,
            ..Self::new("20 idle connections were lost in a freeze", [])
        });
        all
    }

    /// DynamoDB fails for some calls, or is slow.
    fn partial_faults() -> Vec<Self> {
        let mut hanging_and_slow = vec![Fault::Hanging.in_share(0.1)];
        hanging_and_slow.extend(takes(200..600));
        vec![
            Self::new(
                "a tenth of the calls hangs, the others take 200 to 600 ms",
                hanging_and_slow,
            ),
            Self::new("throttles 90 %", [Fault::Throttled.in_share(0.9)]),
            Self::new("throttles 70 %", [Fault::Throttled.in_share(0.7)]),
            Self::new(
                "500s for 4 of 5 seconds",
                [DynamoDbFailure::Answers500.fault().always()],
            )
            .for_burst(Duration::from_secs(4)),
            Self::new("takes 200 to 900 ms", takes(200..900)),
            Self::new("takes 600 to 1,500 ms", takes(600..1_500)),
        ]
    }

    /// Every call fails: of all tables, and of the one that has what is sent.
    fn outages(kind: RequestKind) -> Vec<Self> {
        let failures = [
            DynamoDbFailure::Hangs,
            DynamoDbFailure::Throttles,
            DynamoDbFailure::Answers500,
        ];
        let table = kind.table();
        let mut outages = Vec::new();
        for failure in failures {
            let name = format!("outage: {}", failure.name());
            let rule = failure.fault().always();
            outages.push(Self::new(name, [rule]));
        }
        for failure in failures {
            let name = format!("outage of {table} alone: {}", failure.name());
            let rule = failure.fault().where_body_has(table_name(table));
            outages.push(Self::new(name, [rule]));
        }
        outages
    }

    fn bursts() -> Vec<Self> {
        let mut bursts = Vec::new();
        for millis in [200, 500, 1_000, 2_000] {
            for failure in [
                DynamoDbFailure::Answers500,
                DynamoDbFailure::ResetsConnections,
                DynamoDbFailure::Throttles,
            ] {
                let duration = Duration::from_millis(millis);
                let name = format!("burst of {} s: {}", duration.as_secs_f64(), failure.name());
                let rule = failure.fault().always();
                bursts.push(Self::new(name, [rule]).for_burst(duration));
            }
        }
        bursts
    }

    /// The partition of one customer is throttled, and the table is slow.
    fn hot_customer() -> Self {
        let mut rules = vec![
            Fault::UnprocessedWhere(HOT_CUSTOMER_KEY).where_body_has(HOT_CUSTOMER_KEY),
            Fault::Throttled.where_body_has(HOT_CUSTOMER_KEY),
        ];
        rules.extend(takes(200..1_500));
        Self {
            disturbance: Disturbance::HotCustomer,
            ..Self::new(
                "a hot customer is throttled, the table takes 200 to 1,500 ms: the other customers",
                rules,
            )
        }
    }

    fn new(name: impl Into<String>, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self {
            name: name.into(),
            rules: rules.into_iter().collect(),
            burst: None,
            disturbance: Disturbance::None,
        }
    }

    fn for_burst(self, duration: Duration) -> Self {
        Self {
            burst: Some(duration),
            ..self
        }
    }

    /// The times in which DynamoDB fails, in a run of which `whole` is to be measured.
    pub(crate) fn windows(&self, whole: TimeWindow) -> Vec<TimeWindow> {
        let Some(burst) = self.burst else {
            return vec![whole];
        };
        let mut windows = Vec::new();
        let mut begin = whole.begin;
        while begin < whole.end {
            let end = whole.end.min(begin + burst);
            windows.push(TimeWindow { begin, end });
            begin += BURSTS_EVERY;
        }
        windows
    }

    /// What the proxy in front of DynamoDB does in these times.
    pub(crate) fn plan(&self, windows: &[TimeWindow]) -> Plan {
        let mut rules = Vec::new();
        for window in windows {
            for rule in &self.rules {
                rules.push(rule.clone().between(window.begin, window.end));
            }
        }
        Plan::new(rules)
    }
}

impl TimeWindow {
    /// Whether something between these times was under way in it.
    pub(crate) fn overlaps(&self, began: Instant, ended: Instant) -> bool {
        began < self.end && ended > self.begin
    }
}

/// What DynamoDB does in an outage or a burst.
#[derive(Clone, Copy, Debug)]
enum DynamoDbFailure {
    Hangs,
    Throttles,
    ResetsConnections,
    Answers500,
}

impl DynamoDbFailure {
    fn fault(self) -> Fault {
        match self {
            Self::Hangs => Fault::Hanging,
            Self::Throttles => Fault::Throttled,
            Self::ResetsConnections => Fault::ResetBefore,
            Self::Answers500 => Fault::InternalServerError,
        }
    }

    /// How the names of conditions call it.
    fn name(self) -> &'static str {
        match self {
            Self::Hangs => "hangs",
            Self::Throttles => "throttles",
            Self::ResetsConnections => "resets connections",
            Self::Answers500 => "500s",
        }
    }
}

/// Every call takes between these milliseconds, chosen by chance.
fn takes(millis: std::ops::Range<u32>) -> Vec<Rule> {
    let step = (millis.end - millis.start) / (STEPS - 1);
    let rule = |number: u32| {
        let delay = Duration::from_millis(u64::from(millis.start + step * number));
        // A rule gets its share of the calls that no rule before it got.
        let share = 1.0 / f64::from(STEPS - number);
        Fault::Slow(delay).in_share(share)
    };
    (0..STEPS).map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_begin_every_five_seconds_and_end_with_the_run() {
        let begin = Instant::now();
        let whole = TimeWindow {
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
    fn only_the_condition_without_a_fault_is_the_control() {
        assert!(Condition::control().is_control());
        for kind in RequestKind::ALL {
            for condition in Condition::all(kind) {
                assert!(!condition.is_control(), "{}", condition.name);
            }
        }
    }

    #[test]
    fn names_of_conditions_differ() {
        for kind in RequestKind::ALL {
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
