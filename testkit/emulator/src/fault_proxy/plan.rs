//! Which calls have a fault, and which fault.

use std::ops::Range;

use fastrand::Rng;

use super::fault::Fault;

impl Fault {
    /// The fault on every call.
    pub fn always(self) -> Rule {
        Rule {
            fault: self,
            operation: None,
            marker: None,
            calls: 1..u64::MAX,
            share: 1.0,
            seen: 0,
        }
    }

    /// The fault on the `n`-th call that the rule is about, counted from 1.
    pub fn on_call(self, n: u64) -> Rule {
        self.on_calls(n..n + 1)
    }

    /// The fault on these calls of those that the rule is about, counted from 1.
    pub fn on_calls(self, calls: Range<u64>) -> Rule {
        Rule {
            calls,
            ..self.always()
        }
    }

    /// The fault on this share of the calls, from 0 to 1, chosen at random.
    pub fn in_share(self, share: f64) -> Rule {
        Rule {
            share,
            ..self.always()
        }
    }

    /// The fault on each call whose body has this text in it.
    pub fn where_body_has(self, marker: &'static str) -> Rule {
        self.always().where_body_has(marker)
    }
}

/// A fault, and the calls that have it.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    operation: Option<&'static str>,
    marker: Option<&'static str>,
    /// Which of the calls that it is about, counted from 1.
    calls: Range<u64>,
    /// The share of these calls.
    share: f64,
    /// How many calls it was about so far.
    seen: u64,
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
    fn applies(&mut self, operation: &str, body: &[u8], random: &mut Rng) -> bool {
        if !self.is_about(operation, body) {
            return false;
        }
        self.seen += 1;
        self.calls.contains(&self.seen) && random.f64() < self.share
    }
}

/// Rules, of which the first that applies is the one that counts.
#[derive(Clone, Debug)]
pub struct Plan {
    rules: Vec<Rule>,
    /// What draws the calls of a share.
    random: Rng,
}

impl Plan {
    /// A plan without a fault.
    pub fn none() -> Self {
        Self::new([])
    }

    /// A plan with these rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self {
            rules: rules.into_iter().collect(),
            random: Rng::new(),
        }
    }

    /// Draws the calls of shares from this number: the same calls in the same order have the same
    /// faults.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            ..self
        }
    }

    pub(super) fn decide(&mut self, operation: &str, body: &[u8]) -> Option<Fault> {
        // Every rule counts every call, so that one rule does not shift another's n.
        let mut chosen = None;
        for rule in &mut self.rules {
            let applies = rule.applies(operation, body, &mut self.random);
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
    use std::time::Duration;

    use super::*;

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
    fn share_with_the_same_seed_has_the_same_calls_and_with_another_seed_others() {
        let faulted = |seed: u64| -> Vec<bool> {
            let mut plan = Plan::from(Fault::Hanging.in_share(0.5)).with_seed(seed);
            let calls = (0..64).map(|_| plan.decide("PutItem", b"").is_some());
            calls.collect()
        };
        assert_eq!(faulted(7), faulted(7));
        assert_ne!(faulted(7), faulted(8));
    }

    #[test]
    fn first_rule_that_applies_counts_and_shifts_no_count_of_another() {
        let mut plan = Plan::new([Fault::Hanging.on_call(1), Fault::THROTTLED.on_call(2)]);
        assert_eq!(plan.decide("PutItem", b""), Some(Fault::Hanging));
        assert_eq!(plan.decide("PutItem", b""), Some(Fault::THROTTLED));
        let mut plan = Plan::new([Fault::Hanging.always(), Fault::THROTTLED.always()]);
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
    fn fault_of_batches_is_for_no_other_operation() {
        for fault in [Fault::Swallowed(Duration::ZERO), Fault::Unprocessed] {
            let mut plan = Plan::from(fault.always());
            assert_eq!(plan.decide("PutItem", b"x"), None);
            assert_eq!(plan.decide("BatchWriteItem", b"x"), Some(fault));
        }
    }
}
