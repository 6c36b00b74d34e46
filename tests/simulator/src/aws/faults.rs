//! What fails in a run, and when: rules. The first rule that is about a call decides it.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;

use super::call::{Call, Service};
use super::dynamodb::API_KEYS;

/// How long a call takes that nothing is wrong with, in milliseconds.
const USUAL_LATENCY: Range<u64> = 2..14;

/// A way in which calls fail or are slow.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// 400 `ProvisionedThroughputExceededException`, nothing written.
    Throttled,
    /// 400 with this error code, nothing written.
    Refused(&'static str),
    /// 500 `InternalServerError`, nothing written.
    ServerError,
    /// This status without a body, as of a proxy or a load balancer, nothing written.
    Status(u16),
    /// The connection is lost before the call arrives.
    Lost,
    /// The call takes effect, and its response is lost.
    ResponseLost,
    /// The call takes effect, and its response is a 200 with this body.
    ResponseReplaced(&'static str),
    /// Nothing happens, and the response is a 200 with this body.
    Swallowed(&'static str),
    /// The call takes so many milliseconds.
    Slow(Range<u64>),
    /// Nothing happens, and there is no response.
    Hangs,
    /// The call takes effect after so many milliseconds, and there is no response. Of a batch, perhaps a
    /// part.
    Late(Range<u64>),
    /// Of a batch, so many items are written, and the others left unprocessed.
    Unprocessed(usize),
    /// The call takes so many milliseconds, and of a batch only one item is written: the table has
    /// little capacity.
    Scarce(Range<u64>),
    /// Of a batch, the items that mention this text are left unprocessed; any other call that
    /// mentions it is throttled.
    Hot(&'static str),
}

/// The body of a response that ends before its last byte.
pub const CUT_RESPONSE: &str = "{\"Attrib";

/// What a rule is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Every call to DynamoDB.
    Tables,
    /// The calls to DynamoDB but those on the key table.
    TablesOfData,
    /// The calls on one table.
    Table(&'static str),
    /// The calls to DynamoDB that mention this text.
    Mentioning(&'static str),
    Sqs,
    S3,
}

/// When, where, how often and how calls fail.
#[derive(Clone, Debug)]
pub struct Rule {
    pub target: Target,
    /// Since the beginning of the run.
    pub during: Range<Duration>,
    /// The share of the calls that it meets, of those that no earlier rule met.
    pub share: f64,
    pub fault: Fault,
    /// Only calls of this operation, such as `PutItem`.
    pub operation: Option<&'static str>,
    /// Which of the calls that it is about, counted from 1.
    pub calls: Range<u64>,
    /// How many calls it was about so far.
    pub seen: u64,
}

/// All rules of a run.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan(pub Vec<Rule>);

/// What becomes of a call.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// How long after it was made it takes effect.
    pub before: Duration,
    pub effect: Effect,
    /// How long after that its caller gets the reply.
    pub after: Duration,
    pub reply: Reply,
    /// Whether a rule decided it.
    pub is_fault: bool,
}

/// What a call changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    Whole,
    /// Of a batch, this many items.
    First(usize),
    /// Of a batch, the items that do not mention this text.
    Without(&'static str),
}

/// What the caller of a call gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The response of the service.
    Result,
    Error {
        status: u16,
        code: Option<&'static str>,
    },
    /// A 200 with this body.
    Body(&'static str),
    ConnectionLost,
    Never,
}

impl FaultPlan {
    /// Ends all faults.
    pub fn end(&mut self) {
        self.0.clear();
    }

    /// Decides a call that would otherwise be as `usual`. Each rule has draws of its own from the
    /// call's `seed`: then a run without a rule or a client is as before in what is left of it. Every
    /// rule counts every call that it is about, so that no rule shifts the count of another.
    pub(super) fn decide(
        &mut self,
        call: &Call,
        at: Duration,
        seed: u64,
        usual: PlannedCall,
    ) -> PlannedCall {
        let mut decided = None;
        for (number, rule) in (1..).zip(&mut self.0) {
            if !rule.is_about(call, at) {
                continue;
            }
            rule.seen += 1;
            if decided.is_some() || !rule.calls.contains(&rule.seen) {
                continue;
            }
            let random = &mut fastrand::Rng::with_seed(seed.wrapping_add(number));
            if rule.share >= 1.0 || random.f64() < rule.share {
                decided = Some(rule.fault.meet(call, usual.clone(), random));
            }
        }
        decided.unwrap_or(usual)
    }
}

impl Rule {
    /// On the `n`-th call that the rule is about, counted from 1.
    #[must_use]
    pub fn on_call(self, n: u64) -> Self {
        Self {
            calls: n..n + 1,
            ..self
        }
    }

    /// On the first `n` calls that the rule is about.
    #[must_use]
    pub fn on_first(self, n: u64) -> Self {
        Self {
            calls: 1..n + 1,
            ..self
        }
    }

    /// Only on calls of this operation, such as `PutItem`.
    #[must_use]
    pub fn for_operation(self, operation: &'static str) -> Self {
        Self {
            operation: Some(operation),
            ..self
        }
    }

    /// Only on these calls.
    #[must_use]
    pub fn on(self, target: Target) -> Self {
        Self { target, ..self }
    }

    fn is_about(&self, call: &Call, at: Duration) -> bool {
        self.during.contains(&at)
            && self.operation.is_none_or(|name| call.operation == name)
            && self.target.is_of(call)
    }
}

impl PlannedCall {
    /// What becomes of a call that nothing is wrong with, and that takes as long as always or, without
    /// that, as long as is drawn from its `seed`.
    pub(super) fn usual(always: Option<Duration>, seed: u64) -> Self {
        let (before, latency) = if let Some(latency) = always {
            (latency / 2, latency)
        } else {
            let random = &mut fastrand::Rng::with_seed(seed);
            let latency = random.u64(USUAL_LATENCY);
            let before = random.u64(..=latency);
            (
                Duration::from_millis(before),
                Duration::from_millis(latency),
            )
        };
        Self {
            before,
            effect: Effect::Whole,
            after: latency.saturating_sub(before),
            reply: Reply::Result,
            is_fault: false,
        }
    }
}

impl Target {
    fn is_of(&self, call: &Call) -> bool {
        match self {
            Self::Tables => call.service == Service::DynamoDb,
            Self::TablesOfData => call.service == Service::DynamoDb && call.target != API_KEYS,
            Self::Table(table) => call.service == Service::DynamoDb && call.target == *table,
            Self::Mentioning(text) => call.service == Service::DynamoDb && call.mentions(text),
            Self::Sqs => call.service == Service::Sqs,
            Self::S3 => call.service == Service::S3,
        }
    }
}

impl Fault {
    /// On every call on the tables except the key table.
    pub fn always(self) -> Rule {
        Rule {
            target: Target::TablesOfData,
            during: Duration::ZERO..Duration::MAX,
            share: 1.0,
            fault: self,
            operation: None,
            calls: 1..u64::MAX,
            seen: 0,
        }
    }

    /// On the `n`-th of these calls, counted from 1.
    pub fn on_call(self, n: u64) -> Rule {
        self.always().on_call(n)
    }

    /// On each call to DynamoDB that mentions this text.
    pub fn where_body_has(self, text: &'static str) -> Rule {
        self.always().on(Target::Mentioning(text))
    }

    /// What becomes of a call that it meets, and that would otherwise be as usual.
    fn meet(&self, call: &Call, usual: PlannedCall, random: &mut fastrand::Rng) -> PlannedCall {
        let is_batch = call.operation == "BatchWriteItem";
        let refused = |status, code| PlannedCall {
            effect: Effect::None,
            reply: Reply::Error { status, code },
            is_fault: true,
            ..usual.clone()
        };
        let done = |reply| PlannedCall {
            reply,
            is_fault: true,
            ..usual.clone()
        };
        let written = |effect| PlannedCall {
            effect,
            is_fault: true,
            ..usual.clone()
        };
        let throttled = || refused(400, Some("ProvisionedThroughputExceededException"));
        match self {
            Self::Refused(code) => refused(400, Some(code)),
            Self::ServerError => refused(500, Some("InternalServerError")),
            Self::Status(status) => refused(*status, None),
            Self::Lost => PlannedCall {
                effect: Effect::None,
                ..done(Reply::ConnectionLost)
            },
            Self::ResponseLost => done(Reply::ConnectionLost),
            Self::ResponseReplaced(body) => done(Reply::Body(body)),
            Self::Swallowed(body) => PlannedCall {
                effect: Effect::None,
                ..done(Reply::Body(body))
            },
            Self::Slow(millis) => PlannedCall {
                before: Duration::from_millis(random.u64(millis.clone())),
                is_fault: true,
                ..usual
            },
            Self::Hangs => PlannedCall {
                effect: Effect::None,
                ..done(Reply::Never)
            },
            Self::Late(millis) => PlannedCall {
                before: Duration::from_millis(random.u64(millis.clone())),
                effect: if is_batch && random.bool() {
                    Effect::First(random.usize(..25))
                } else {
                    Effect::Whole
                },
                ..done(Reply::Never)
            },
            Self::Scarce(millis) => PlannedCall {
                before: Duration::from_millis(random.u64(millis.clone())),
                effect: if is_batch {
                    Effect::First(1)
                } else {
                    Effect::Whole
                },
                is_fault: true,
                ..usual
            },
            Self::Unprocessed(first) if is_batch => written(Effect::First(*first)),
            Self::Unprocessed(_) => usual,
            Self::Hot(text) if is_batch => written(Effect::Without(text)),
            Self::Throttled | Self::Hot(_) => throttled(),
        }
    }
}

impl Effect {
    /// Keeps of the body of a batch what takes effect of it. Returns the requests that do not.
    pub(super) fn divide(&self, body: &mut Value) -> Vec<Value> {
        if *self == Self::Whole {
            return Vec::new();
        }
        let tables = body.get_mut("RequestItems").and_then(Value::as_object_mut);
        let table = tables.and_then(|tables| tables.values_mut().next());
        let Some(requests) = table.and_then(Value::as_array_mut) else {
            return Vec::new();
        };
        match self {
            Self::None | Self::Whole => Vec::new(),
            Self::First(count) => requests.split_off((*count).min(requests.len())),
            Self::Without(text) => {
                let all = std::mem::take(requests);
                let mentions = |request: &Value| request.to_string().contains(text);
                let (unprocessed, written) = all.into_iter().partition(mentions);
                *requests = written;
                unprocessed
            }
        }
    }
}
