//! Which calls have a fault, and which fault.

use std::time::{Duration, Instant};

use super::fault::Fault;

impl Fault {
    /// The fault on every call.
    pub fn always(self) -> Rule {
        Rule {
            fault: self,
            operation: None,
            marker: None,
            lasting: None,
            began: None,
            when: When::Always,
            seen: 0,
        }
    }

    /// The fault on the `n`-th call that the rule is about, counted from 1.
    pub fn on_call(self, n: u64) -> Rule {
        Rule {
            when: When::Nth(n),
            ..self.always()
        }
    }

    /// The fault on this share of the calls, from 0 to 1, chosen at random.
    pub fn in_share(self, share: f64) -> Rule {
        Rule {
            when: When::Share(share),
            ..self.always()
        }
    }

    /// The fault on each call whose body has this text in it.
    pub fn where_body_has(self, marker: &'static str) -> Rule {
        Rule {
            marker: Some(marker),
            ..self.always()
        }
    }

    /// The fault on every call for this long, from the first call on that the rule is about.
    pub fn lasting(self, duration: Duration) -> Rule {
        Rule {
            lasting: Some(duration),
            ..self.always()
        }
    }
}

/// A fault, and the calls that have it.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    operation: Option<&'static str>,
    marker: Option<&'static str>,
    lasting: Option<Duration>,
    began: Option<Instant>,
    when: When,
    seen: u64,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    Nth(u64),
    Share(f64),
}

impl Rule {
    /// Only for calls of this operation, such as `PutItem`.
    #[must_use]
    pub fn for_operation(self, operation: &'static str) -> Self {
        Self {
            operation: Some(operation),
            ..self
        }
    }

    /// Only for calls whose body has this text in it, such as a table's name or a key.
    #[must_use]
    pub fn where_body_has(self, marker: &'static str) -> Self {
        Self {
            marker: Some(marker),
            ..self
        }
    }

    /// Whether the rule is about this call.
    fn is_about(&self, operation: &str, body: &[u8]) -> bool {
        let is_for_batches = matches!(self.fault, Fault::Swallowed(_) | Fault::Unprocessed);
        let is_operation = match self.operation {
            Some(own) => own == operation,
            None => true,
        };
        let is_possible = !is_for_batches || operation == "BatchWriteItem";
        let has_marker = |marker: &str| {
            body.windows(marker.len())
                .any(|bytes| bytes == marker.as_bytes())
        };
        is_operation && is_possible && self.marker.is_none_or(has_marker)
    }

    /// Whether the rule applies to this call, which it counts if it is about it.
    fn applies(&mut self, operation: &str, body: &[u8]) -> bool {
        if !self.is_about(operation, body) {
            return false;
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        if self
            .lasting
            .is_some_and(|duration| began.elapsed() >= duration)
        {
            return false;
        }
        self.seen += 1;
        match self.when {
            When::Always => true,
            When::Nth(n) => self.seen == n,
            When::Share(share) => fastrand::f64() < share,
        }
    }
}

/// Rules, of which the first that applies is the one that counts.
#[derive(Clone, Debug)]
pub struct Plan(Vec<Rule>);

impl Plan {
    /// A plan without a fault.
    pub fn none() -> Self {
        Self::new([])
    }

    /// A plan with these rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().collect())
    }

    pub(super) fn decide(&mut self, operation: &str, body: &[u8]) -> Option<Fault> {
        // Every rule counts every call, so that one rule does not shift another's n.
        let mut chosen = None;
        for rule in &mut self.0 {
            let applies = rule.applies(operation, body);
            if applies && chosen.is_none() {
                chosen = Some(rule.fault);
            }
        }
        chosen
    }
}

impl From<Rule> for Plan {
    fn from(rule: Rule) -> Self {
        Self::new([rule])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn nth_call_is_counted_among_the_calls_that_the_rule_is_about() {
        let rule = Fault::Hanging
            .on_call(2)
            .for_operation("PutItem")
            .where_body_has("hot");
        let mut plan = Plan::from(rule);
        assert_eq!(plan.decide("PutItem", b"hot"), None);
        assert_eq!(plan.decide("UpdateItem", b"hot"), None);
        assert_eq!(plan.decide("PutItem", b"cold"), None);
        assert_eq!(plan.decide("PutItem", b"a hot one"), Some(Fault::Hanging));
        assert_eq!(plan.decide("PutItem", b"hot"), None);
    }

    #[test]
    fn first_rule_that_applies_counts_and_shifts_no_count_of_another() {
        let mut plan = Plan::new([Fault::Hanging.on_call(1), Fault::Throttled.on_call(2)]);
        assert_eq!(plan.decide("PutItem", b""), Some(Fault::Hanging));
        assert_eq!(plan.decide("PutItem", b""), Some(Fault::Throttled));
        let mut plan = Plan::new([Fault::Hanging.always(), Fault::Throttled.always()]);
        assert_eq!(plan.decide("PutItem", b""), Some(Fault::Hanging));
    }

    #[test]
    fn share_of_the_calls_is_faulted() {
        let faulted = |share| {
            let mut plan = Plan::from(Fault::Hanging.in_share(share));
            let calls = (0..1_000).filter(|_| plan.decide("PutItem", b"{}").is_some());
            calls.count()
        };
        assert_eq!(faulted(0.0), 0);
        assert!((200..400).contains(&faulted(0.3)));
        assert_eq!(faulted(1.0), 1_000);
    }

    #[test]
    fn lasting_fault_ends_after_its_time_from_the_first_call_on() {
        let mut rule = Fault::Hanging.lasting(HOUR);
        assert!(rule.applies("PutItem", b""));
        assert!(rule.applies("PutItem", b""));
        rule.lasting = Some(Duration::ZERO);
        assert!(!rule.applies("PutItem", b""));
    }

    #[test]
    fn fault_of_batches_is_for_no_other_operation() {
        for fault in [Fault::Swallowed(Duration::ZERO), Fault::Unprocessed] {
            let mut plan = Plan::from(fault.always());
            assert_eq!(plan.decide("PutItem", b"x"), None);
            assert_eq!(plan.decide("BatchWriteItem", b"x"), Some(fault));
        }
    }
}
