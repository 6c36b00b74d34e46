//! Which calls have a fault, and which fault.

use std::collections::VecDeque;
use std::ops::Range;

use fastrand::Rng;
use hyper::Request;
use hyper::body::Bytes;

use super::call::{AwsService, operation};
use super::fault::Fault;

impl Fault {
    /// The fault on every call.
    pub fn always(self) -> Rule {
        Rule {
            fault: self,
            service: None,
            operation: None,
            path: None,
            header: None,
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
    service: Option<AwsService>,
    operation: Option<&'static str>,
    path: Option<&'static str>,
    header: Option<&'static str>,
    marker: Option<&'static str>,
    /// Which of the calls that it is about, counted from 1.
    calls: Range<u64>,
    /// The share of these calls.
    share: f64,
    /// How many calls it was about so far.
    seen: u64,
}

impl Rule {
    /// Only for calls to this service.
    #[must_use]
    pub fn for_service(self, service: AwsService) -> Self {
        Self {
            service: Some(service),
            ..self
        }
    }

    /// Only for calls with this path, such as that of an object of S3: `/bucket/key`.
    #[must_use]
    pub fn for_path(self, path: &'static str) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// Only for calls with this header.
    #[must_use]
    pub fn where_header_is(self, header: &'static str) -> Self {
        Self {
            header: Some(header),
            ..self
        }
    }

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
    fn is_about(&self, call: &Request<Bytes>) -> bool {
        let is_for_batches = matches!(self.fault, Fault::Swallowed(_) | Fault::Unprocessed);
        let is_possible = !is_for_batches || operation(call) == "BatchWriteItem";
        let has_marker = |marker: &str| {
            let mut parts = call.body().windows(marker.len());
            parts.any(|bytes| bytes == marker.as_bytes())
        };
        is_possible
            && self.service.is_none_or(|own| own == AwsService::of(call))
            && self.operation.is_none_or(|own| own == operation(call))
            && self.path.is_none_or(|own| own == path(call))
            && self
                .header
                .is_none_or(|own| call.headers().contains_key(own))
            && self.marker.is_none_or(has_marker)
    }

    /// Whether the rule applies to this call, which it counts if it is about it.
    fn applies(&mut self, call: &Request<Bytes>, random: &mut Rng) -> bool {
        if !self.is_about(call) {
            return false;
        }
        self.seen += 1;
        self.calls.contains(&self.seen) && random.f64() < self.share
    }
}

/// The path of a call. The SDK encodes the equals sign of a partition's folder.
fn path(call: &Request<Bytes>) -> String {
    call.uri().path().replace("%3D", "=")
}

/// What becomes of a call that an order is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Fault(Fault),
    /// It passes.
    Done,
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What becomes of the next calls of an operation, one after another.
#[derive(Clone, Debug)]
pub struct Order {
    service: AwsService,
    operation: &'static str,
    outcomes: VecDeque<Outcome>,
}

impl Order {
    /// What becomes of the next calls of this operation to this service, in this order.
    pub fn next_calls(
        service: AwsService,
        operation: &'static str,
        outcomes: impl IntoIterator<Item = impl Into<Outcome>>,
    ) -> Self {
        Self {
            service,
            operation,
            outcomes: outcomes.into_iter().map(Into::into).collect(),
        }
    }

    /// What becomes of this call, if the order is about it and is not used up.
    fn take(&mut self, call: &Request<Bytes>) -> Option<Outcome> {
        if self.service != AwsService::of(call) || self.operation != operation(call) {
            return None;
        }
        self.outcomes.pop_front()
    }
}

/// Orders, and rules for the calls that no order is about. The first that applies counts.
#[derive(Clone, Debug)]
pub struct Plan {
    orders: Vec<Order>,
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
            orders: Vec::new(),
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

    pub(super) fn add(&mut self, order: Order) {
        self.orders.push(order);
    }

    pub(super) fn decide(&mut self, call: &Request<Bytes>) -> Option<Fault> {
        // Every rule counts every call, so that neither an order nor another rule shifts its n.
        let mut chosen = None;
        for rule in &mut self.rules {
            let applies = rule.applies(call, &mut self.random);
            if applies && chosen.is_none() {
                chosen = Some(rule.fault);
            }
        }
        let ordered = self.orders.iter_mut().find_map(|order| order.take(call));
        match ordered {
            Some(Outcome::Fault(fault)) => Some(fault),
            Some(Outcome::Done) => None,
            None => chosen,
        }
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

    /// A call to DynamoDB.
    fn call(operation: &str, body: &'static [u8]) -> Request<Bytes> {
        call_of("DynamoDB_20120810", operation, body)
    }

    fn call_of(service: &str, operation: &str, body: &'static [u8]) -> Request<Bytes> {
        let request = Request::builder().header("x-amz-target", format!("{service}.{operation}"));
        request.body(Bytes::from_static(body)).unwrap()
    }

    #[test]
    fn order_is_for_the_next_calls_of_its_operation_of_its_service_one_after_another() {
        let mut plan = Plan::from(Fault::Hanging.on_call(4));
        let outcomes = [
            Outcome::Fault(Fault::THROTTLED),
            Outcome::Done,
            Outcome::Fault(Fault::ResetAfter),
        ];
        plan.add(Order::next_calls(AwsService::DynamoDb, "PutItem", outcomes));
        plan.add(Order::next_calls(
            AwsService::DynamoDb,
            "PutItem",
            [Fault::ErrorAfter],
        ));
        let of_another_service = call_of("AmazonSQS", "PutItem", b"");
        assert_eq!(plan.decide(&of_another_service), None);
        assert_eq!(plan.decide(&call("GetItem", b"")), None);
        let put = call("PutItem", b"");
        assert_eq!(plan.decide(&put), Some(Fault::THROTTLED));
        // The rule is for this call, and the order is first.
        assert_eq!(plan.decide(&put), None);
        assert_eq!(plan.decide(&put), Some(Fault::ResetAfter));
        assert_eq!(
            plan.decide(&put),
            Some(Fault::ErrorAfter),
            "the second order"
        );
        assert_eq!(plan.decide(&put), None);
    }

    #[test]
    fn rule_is_for_calls_with_its_service_path_and_header() {
        let put_object = |path: &str, header: &'static str| {
            let request = Request::put(path).header(header, "1");
            request.body(Bytes::new()).unwrap()
        };
        let rule = Fault::Hanging
            .always()
            .for_service(AwsService::S3)
            .for_operation("PutObject")
            .for_path("/lake/dt=1/a")
            .where_header_is("x-amz-tagging");
        let mut plan = Plan::from(rule);
        let tagged = put_object("/lake/dt%3D1/a", "x-amz-tagging");
        assert_eq!(plan.decide(&tagged), Some(Fault::Hanging));
        for other in [
            put_object("/lake/dt%3D1/b", "x-amz-tagging"),
            put_object("/lake/dt%3D1/a", "x-amz-other"),
            call("PutObject", b""),
        ] {
            assert_eq!(plan.decide(&other), None, "{other:?}");
        }
    }

    #[test]
    fn nth_call_is_counted_among_the_calls_that_the_rule_is_about() {
        let rule = Fault::Hanging
            .on_call(2)
            .for_operation("PutItem")
            .where_body_has("hot");
        let mut plan = Plan::from(rule);
        assert_eq!(plan.decide(&call("PutItem", b"hot")), None);
        assert_eq!(plan.decide(&call("UpdateItem", b"hot")), None);
        assert_eq!(plan.decide(&call("PutItem", b"cold")), None);
        assert_eq!(
            plan.decide(&call("PutItem", b"a hot one")),
            Some(Fault::Hanging)
        );
        assert_eq!(plan.decide(&call("PutItem", b"hot")), None);
    }

    #[test]
    fn first_rule_that_applies_counts_and_shifts_no_count_of_another() {
        let mut plan = Plan::new([Fault::Hanging.on_call(1), Fault::THROTTLED.on_call(2)]);
        assert_eq!(plan.decide(&call("PutItem", b"")), Some(Fault::Hanging));
        assert_eq!(plan.decide(&call("PutItem", b"")), Some(Fault::THROTTLED));
        let mut plan = Plan::new([Fault::Hanging.always(), Fault::THROTTLED.always()]);
        assert_eq!(plan.decide(&call("PutItem", b"")), Some(Fault::Hanging));
    }

    #[test]
    fn share_of_the_calls_is_faulted() {
        let faulted = |share| {
            let mut plan = Plan::from(Fault::Hanging.in_share(share));
            let calls = (0..1_000).filter(|_| plan.decide(&call("PutItem", b"{}")).is_some());
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
            assert_eq!(plan.decide(&call("PutItem", b"x")), None);
            assert_eq!(plan.decide(&call("BatchWriteItem", b"x")), Some(fault));
        }
    }
}
