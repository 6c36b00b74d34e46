//! The AWS of a run: what it keeps, and what becomes of each call.
//!
//! A call is decided when it is made: when it takes effect, whether it does, and what its caller
//! hears. Its effect does not depend on the caller, which may have abandoned the call or been killed.
//!
//! | module | is for |
//! |---|---|
//! | [`connector`] | the seam: HTTP calls of one environment |
//! | [`call`] | what is asked for |
//! | [`faults`] | what fails, and when |
//! | `call_outcome` | what the caller of a call gets |
//! | [`dynamodb`], [`sqs`], [`s3`] | the services |

pub mod call;
pub(crate) mod call_outcome;
pub mod connector;
pub mod dynamodb;
pub mod faults;
pub mod s3;
pub mod sqs;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use model::timestamp::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::call::{Call, Service};
use self::call_outcome::CallOutcome;
use self::dynamodb::{API_KEYS, Response, Tables};
use self::faults::{Effect, FaultPlan, PlannedCall, Reply};
use self::s3::Objects;
use self::sqs::Queues;
use crate::promises::{Promise, Promises};
use crate::trace::Trace;

/// When a run begins, by the clock that is right.
const BEGIN: Timestamp = Timestamp::from_millis(1_795_700_000_000);

/// The runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// How the condition of the write of a part of an update begins.
pub const WRITE_OF_PART: &str = "attribute_exists(pk) AND";

/// More calls than any run makes.
const MAX_CALLS: u64 = 2_000_000;

/// The AWS of a run. A clone is the same one.
#[derive(Clone, Debug)]
pub struct Aws {
    /// The number of the run in this process.
    pub run: u64,
    began: Instant,
    state: Arc<Mutex<State>>,
}

/// What is counted in a run.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Requests of clients, each attempt counted.
    pub requests: u64,
    /// Calls to AWS, and how many of them had a fault.
    pub calls: u64,
    pub faulted: u64,
    /// Environments that were killed.
    pub kills: u64,
    /// Signals and updates that were deferred.
    pub deferred: u64,
}

/// What the AWS of a run keeps.
#[derive(Debug)]
pub struct State {
    pub tables: Tables,
    pub queues: Queues,
    pub objects: Objects,
    pub plan: FaultPlan,
    pub promises: Promises,
    pub trace: Trace,
    pub counts: Counts,
    /// Calls to DynamoDB so far.
    pub table_calls: u64,
    /// Calls so far by their operation, such as `PutItem`, or the method of a call to S3.
    pub calls_of_operation: BTreeMap<String, u64>,
    /// How long a call takes that nothing is wrong with. Without it, the seed says so.
    pub latency: Option<Duration>,
    /// Log lines that say that rejected signals are not stored.
    pub unkept: u64,
    /// Whether any call on the key table failed or was slow.
    pub key_table_has_failed: bool,
    /// When a call of an environment to SQS or S3 failed last.
    failures_beside_tables: BTreeMap<Arc<str>, Duration>,
    /// When the customer with a key was erased last.
    pub erased_at: BTreeMap<String, Duration>,
    /// How many calls each environment has made.
    calls_of: BTreeMap<Arc<str>, u64>,
    /// What the draws of the calls follow from.
    seed: u64,
}

impl Aws {
    /// An AWS without items, messages and objects, in which this fails.
    pub fn new(plan: FaultPlan, seed: u64, trace: Trace) -> Self {
        let state = State {
            tables: Tables::default(),
            queues: Queues::default(),
            objects: Objects::default(),
            plan,
            promises: Promises::default(),
            trace,
            counts: Counts::default(),
            table_calls: 0,
            calls_of_operation: BTreeMap::new(),
            latency: None,
            unkept: 0,
            key_table_has_failed: false,
            failures_beside_tables: BTreeMap::new(),
            erased_at: BTreeMap::new(),
            calls_of: BTreeMap::new(),
            seed,
        };
        Self {
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            began: Instant::now(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The time of day, by the clock that is right.
    pub fn now(&self) -> Timestamp {
        BEGIN.plus(self.elapsed())
    }

    /// Microseconds since 1970, by the clock that is right.
    pub fn micros(&self) -> u64 {
        let elapsed = u64::try_from(self.elapsed().as_micros());
        BEGIN.millis() * 1_000 + elapsed.expect("a run takes hours at most")
    }

    /// What it keeps.
    ///
    /// # Panics
    /// Never: nothing panics while it holds the state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing panics while it holds the state")
    }

    /// Adds a line to the story of the run.
    pub fn note(&self, who: &str, text: impl FnOnce() -> String) {
        let at = self.elapsed();
        self.state().trace.note(at, who, text);
    }

    /// Decides a call that is made now.
    fn decide(&self, who: &Arc<str>, call: &Call) -> PlannedCall {
        let at = self.elapsed();
        let state = &mut *self.state();
        state.counts.calls += 1;
        let of_operation = state.calls_of_operation.entry(call.operation.clone());
        *of_operation.or_default() += 1;
        state.table_calls += u64::from(call.service == Service::DynamoDb);
        assert!(
            state.counts.calls < MAX_CALLS,
            "a run makes so many calls only in a loop that does not end: {call}"
        );
        let calls = state.calls_of.entry(who.clone()).or_default();
        *calls += 1;
        let mut hasher = DefaultHasher::new();
        (state.seed, who, *calls).hash(&mut hasher);
        let seed = hasher.finish();
        let usual = PlannedCall::usual(state.latency, seed);
        let planned = state.plan.decide(call, at, seed, usual);
        if planned.is_fault {
            state.counts.faulted += 1;
            state.key_table_has_failed |= call.target == API_KEYS;
            if call.service != Service::DynamoDb {
                let heard_at = at + planned.before + planned.after;
                state.failures_beside_tables.insert(who.clone(), heard_at);
            }
        }
        planned
    }

    /// Does what was decided about a call, and says what its caller gets.
    fn apply(&self, who: &str, call: &Call, planned: &PlannedCall) -> CallOutcome {
        let at = self.elapsed();
        let state = &mut *self.state();
        let done = state.apply(call, &planned.effect, at);
        let made_at = at.saturating_sub(planned.before);
        if let Some(CallOutcome::Response(response)) = &done
            && response.status == 200
            && state.is_part_for_erased(call, made_at)
        {
            let text = format!("{call} changes a customer who was erased since it was made");
            let key = call.body["Key"]["pk"]["S"].as_str().unwrap_or_default();
            let promises = &mut state.promises;
            promises.note(Promise::ErasedStays, text, key.to_owned());
        }
        let outcome = match planned.reply {
            Reply::Result => done.unwrap_or(CallOutcome::Never),
            Reply::Error { status, code } => CallOutcome::Response(error(status, code)),
            Reply::Body(body) => CallOutcome::Bytes {
                status: 200,
                headers: Vec::new(),
                body: body.into(),
            },
            Reply::ConnectionLost => CallOutcome::ConnectionLost,
            Reply::Never => CallOutcome::Never,
        };
        state.trace.add_call(at, who, call, planned, &outcome);
        outcome
    }
}

impl State {
    /// When a call of an environment to SQS or S3 failed last.
    pub fn last_failure_beside_tables(&self, environment: &str) -> Option<Duration> {
        self.failures_beside_tables.get(environment).copied()
    }

    /// Whether a call writes a part of an update to a customer who was erased since `made_at`. A
    /// whole one may: see docs/outages.md, What is not promised.
    fn is_part_for_erased(&self, call: &Call, made_at: Duration) -> bool {
        let condition = call.body["ConditionExpression"].as_str();
        let key = call.body["Key"]["pk"]["S"].as_str().unwrap_or_default();
        let erased_at = self.erased_at.get(key);
        condition.is_some_and(|condition| condition.starts_with(WRITE_OF_PART))
            && erased_at.is_some_and(|erased_at| *erased_at > made_at)
    }

    /// Lets a call take effect at this time. `None` if it has none.
    fn apply(&mut self, call: &Call, effect: &Effect, at: Duration) -> Option<CallOutcome> {
        if matches!(effect, Effect::None) {
            return None;
        }
        Some(match call.service {
            Service::DynamoDb => {
                let mut body = call.body.clone();
                let unprocessed = effect.divide(&mut body);
                let promises = &mut self.promises;
                let mut observer = |change: dynamodb::Change<'_>| promises.check_write(&change);
                // DynamoDB takes no batch without items.
                let is_empty = body["RequestItems"][&call.target] == json!([]);
                let mut response = if is_empty {
                    Response {
                        status: 200,
                        body: json!({"UnprocessedItems": {}}),
                    }
                } else {
                    self.tables.call(&call.operation, &body, &mut observer)
                };
                if response.status == 200 && !unprocessed.is_empty() {
                    response.body["UnprocessedItems"][call.target.as_str()] =
                        Value::Array(unprocessed);
                }
                CallOutcome::Response(response)
            }
            Service::Sqs => CallOutcome::Response(self.queues.send(&call.body, at)),
            Service::S3 => self.objects.get(&call.target),
        })
    }
}

fn error(status: u16, code: Option<&str>) -> Response {
    let body = match code {
        // By its text, the SDK's caller tells a clock that is late from another wrong signature.
        Some(code @ "InvalidSignatureException") => {
            json!({"__type": code, "message": "Signature expired: simulated"})
        }
        Some(code) => json!({"__type": code, "message": "simulated"}),
        None => Value::Null,
    };
    Response { status, body }
}
