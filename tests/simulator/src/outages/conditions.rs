//! The ways in which DynamoDB fails.

use std::ops::Range;
use std::time::Duration;

use super::RequestKind;
use crate::aws::faults::{Fault, FaultPlan, Rule, Target};

pub(super) const A_TENTH_HANGS: &str = "a tenth of the calls hangs, the others take 200 to 600 ms";

/// Of a table that is well.
pub(super) const USUAL_TAIL: &str =
    "one call in 100 takes 20 to 200 ms, one in 1,000 up to 1,000 ms";

/// How often a burst is repeated.
const BURSTS_EVERY: Duration = Duration::from_secs(5);

/// A way in which DynamoDB fails, or that it does not fail.
pub(super) struct Condition {
    pub(super) name: String,
    faults: Vec<Rule>,
    /// How long a burst lasts; without it, the fault lasts as long as the run.
    burst: Option<Duration>,
}

impl Condition {
    /// All conditions, the one without a fault first.
    pub(super) fn all(kind: RequestKind) -> Vec<Self> {
        let seconds = Duration::from_secs_f64;
        let always = |fault| [(1.0, fault)];
        let usual_tail = [
            (0.001, Fault::Slow(200..1_000)),
            (0.01, Fault::Slow(20..200)),
        ];
        let a_tenth_hangs = [(0.1, Fault::Hangs), (1.0, Fault::Slow(200..600))];
        let mut all = vec![
            Self::new("no fault", &[]),
            Self::new(USUAL_TAIL, &usual_tail),
            Self::new(A_TENTH_HANGS, &a_tenth_hangs),
            Self::new("throttles 90 %", &[(0.9, Fault::Throttled)]),
            Self::new("throttles 70 %", &[(0.7, Fault::Throttled)]),
            Self::new("500s for 4 of 5 seconds", &always(Fault::ServerError))
                .for_burst(seconds(4.0)),
            Self::new("takes 200 to 900 ms", &always(Fault::Slow(200..900))),
            Self::new("takes 600 to 1,500 ms", &always(Fault::Slow(600..1_500))),
        ];
        let failures = [
            ("hangs", Fault::Hangs),
            ("throttles", Fault::Throttled),
            ("500s", Fault::ServerError),
        ];
        for (name, fault) in failures.clone() {
            all.push(Self::new(format!("outage: {name}"), &always(fault)));
        }
        let table = kind.table();
        for (name, fault) in failures {
            let name = format!("outage of {table} alone: {name}");
            all.push(Self::new(name, &always(fault)).of(&Target::Table(table)));
        }
        for duration in [0.2, 0.5, 1.0, 2.0] {
            for (name, fault) in [
                ("500s", Fault::ServerError),
                ("resets connections", Fault::Lost),
                ("throttles", Fault::Throttled),
            ] {
                let name = format!("burst of {duration} s: {name}");
                all.push(Self::new(name, &always(fault)).for_burst(seconds(duration)));
            }
        }
        all
    }

    pub(super) fn is_control(&self) -> bool {
        self.faults.is_empty()
    }

    fn new(name: impl Into<String>, faults: &[(f64, Fault)]) -> Self {
        let faults = faults.iter().map(|(share, fault)| Rule {
            target: Target::Tables,
            share: *share,
            ..fault.clone().always()
        });
        Self {
            name: name.into(),
            faults: faults.collect(),
            burst: None,
        }
    }

    fn of(mut self, target: &Target) -> Self {
        for fault in &mut self.faults {
            fault.target = target.clone();
        }
        self
    }

    fn for_burst(self, duration: Duration) -> Self {
        Self {
            burst: Some(duration),
            ..self
        }
    }

    /// The times in which DynamoDB fails, in a run of which `whole` is measured.
    pub(super) fn windows(&self, whole: Range<Duration>) -> Vec<Range<Duration>> {
        let Some(burst) = self.burst else {
            return vec![whole];
        };
        let mut windows = Vec::new();
        let mut begin = whole.start;
        while begin < whole.end {
            windows.push(begin..whole.end.min(begin + burst));
            begin += BURSTS_EVERY;
        }
        windows
    }

    /// What fails in these times.
    pub(super) fn plan(&self, windows: &[Range<Duration>]) -> FaultPlan {
        let mut rules = Vec::new();
        for during in windows {
            rules.extend(self.faults.iter().map(|rule| Rule {
                during: during.clone(),
                ..rule.clone()
            }));
        }
        FaultPlan(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_begin_every_five_seconds_and_end_with_the_run() {
        let second = Duration::from_secs;
        let condition = Condition::new("", &[]).for_burst(second(2));
        let windows = condition.windows(second(3)..second(14));
        let expected = [3..5, 8..10, 13..14].map(|window| second(window.start)..second(window.end));
        assert_eq!(windows, expected);
        assert_eq!(
            Condition::new("", &[]).windows(second(3)..second(14)).len(),
            1
        );
    }
}
