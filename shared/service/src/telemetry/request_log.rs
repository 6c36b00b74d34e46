//! The one line that is logged of a request: what an operator asks for, and CloudWatch's embedded metrics
//! (the "embedded metric format specification" in the CloudWatch user guide).
//!
//! It holds accounts, key ids, counts and codes: never a key, a customer, a member or a value.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::EMF_TARGET;
use crate::auth::Caller;
use crate::invocation::Invocation;
use crate::problem::{Problem, ProblemType};
use crate::request::Route;
use crate::response::Outcome;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use store::call_stats::CallStats;
use store::customers::UpsertResult;

/// The namespace of every metric.
pub const NAMESPACE: &str = "Intake";

/// The dimension of every metric: the function's name, which also tells one stack from another.
pub const FUNCTION: &str = "FunctionName";

/// The second dimension of [`Metric::SignalsRejected`], where it is told by fault.
pub const CODE: &str = "Code";

macro_rules! metrics {
    ($($name:ident $unit:literal $meaning:literal;)*) => {
        /// The metrics that the functions write, and no others. A test holds the dashboard and the alarms to them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric { $(#[doc = $meaning] $name,)* }

        impl Metric {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in CloudWatch.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Its unit in CloudWatch.
            #[must_use]
            pub fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit,)* }
            }
        }
    };
}

metrics! {
    SignalsAccepted "Count" "BatchCounts stored.";
    SignalsRejected "Count" "BatchCounts refused; by code as well, the first five errors of a signal each counted.";
    RejectionRate "Percent" "Of a request's signals, how many were refused.";
    DeadLetterFailures "Count" "Requests whose refused signals could not be kept for a replay.";
    CustomersCreated "Count" "Customers that were new.";
    CustomersUpdated "Count" "Customers that were there.";
    Unauthorized "Count" "Answers of 401.";
    StorageUnavailable "Count" "Answers of 503.";
    InternalErrors "Count" "Answers of 500.";
    Replays "Count" "Requests that had come before.";
    DynamoDbLatency "Milliseconds" "From a request's first call to DynamoDB to the end of its last.";
    DynamoDbCalls "Count" "Calls to DynamoDB, each attempt counted.";
    ColdStarts "Count" "First requests of a process.";
}

static FUNCTION_NAME: LazyLock<String> =
    LazyLock::new(|| std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "local".to_owned()));

/// Whether a request has been served by this process.
static WARM: AtomicBool = AtomicBool::new(false);

/// What is told of a request. Filled in as it becomes known.
#[derive(Debug, Default)]
pub struct RequestLog {
    path: Option<&'static str>,
    caller: Option<Caller>,
    bytes: Option<usize>,
    signals: Option<BatchCounts>,
    upserted: Option<UpsertResult>,
    errors: BTreeMap<&'static str, usize>,
    dead_letter_failure: bool,
}

/// The counts of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchCounts {
    /// In the request.
    pub received: usize,
    /// Stored.
    pub accepted: usize,
    /// Whether the request had come before.
    pub replayed: bool,
}

impl RequestLog {
    /// By which path it came.
    pub fn route(&mut self, route: &Route) {
        self.path = Some(route.path);
    }

    /// Whose request it is.
    pub fn caller(&mut self, caller: &Caller) {
        self.caller = Some(caller.clone());
    }

    /// How many bytes the body has, unpacked.
    pub fn bytes(&mut self, bytes: usize) {
        self.bytes = Some(bytes);
    }

    /// What became of a batch.
    pub fn signals(&mut self, signals: BatchCounts) {
        self.signals = Some(signals);
    }

    /// Whether the customer is new.
    pub fn customer(&mut self, upserted: UpsertResult) {
        self.upserted = Some(upserted);
    }

    /// What was wrong.
    pub fn errors<'f>(&mut self, errors: impl IntoIterator<Item = &'f FieldError>) {
        for error in errors {
            let count = self.errors.entry(error.code.as_str()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Refused signals could not be kept.
    pub fn dead_letter_failure(&mut self) {
        self.dead_letter_failure = true;
    }

    /// Writes the line, and one more for each code by which signals were refused.
    pub(crate) fn write(&self, invocation: &Invocation, outcome: &Outcome, call_stats: &CallStats, took: Duration) {
        let cold = !WARM.swap(true, Ordering::Relaxed);
        let problem = outcome.as_ref().err();
        let status =
            outcome.as_ref().map_or_else(|problem| problem.problem_type().status, |answer| answer.status().as_u16());
        let storage = match problem {
            Some(Problem::StorageUnavailable { error, .. }) => Some(error.to_string()),
            _ => None,
        };
        let count = |of: fn(&BatchCounts) -> usize| self.signals.as_ref().map(|signals| Value::Count(of(signals)));
        let members = [
            ("level", Some(Value::Text("INFO"))),
            ("message", Some(Value::Text("request"))),
            ("timestamp", Some(Value::Text(&invocation.received_at.to_string()))),
            ("requestId", Some(Value::Text(&invocation.id))),
            ("apiRequestId", invocation.api_request_id.as_deref().map(Value::Text)),
            ("path", self.path.map(Value::Text)),
            ("status", Some(Value::Count(usize::from(status)))),
            ("code", Some(Value::Text(problem.map_or("ok", |problem| problem.problem_type().code)))),
            ("accountId", self.caller.as_ref().map(|caller| Value::Text(caller.account_id.as_str()))),
            ("keyId", self.caller.as_ref().map(|caller| Value::Text(&caller.key_id))),
            ("bytes", self.bytes.map(Value::Count)),
            ("received", count(|signals| signals.received)),
            ("accepted", count(|signals| signals.accepted)),
            ("rejected", count(BatchCounts::rejected)),
            ("replayed", self.signals.map(|signals| Value::Bool(signals.replayed))),
            ("result", self.upserted.map(|upserted| Value::Text(upserted.as_str()))),
            ("fieldErrorCounts", (!self.errors.is_empty()).then_some(Value::Counts(&self.errors))),
            ("storeError", storage.as_deref().map(Value::Text)),
            ("durationMs", Some(Value::Milliseconds(took))),
            ("coldStart", Some(Value::Bool(cold))),
        ];
        let at = invocation.received_at;
        write(&EmfRecord { at, members: &members, dimension: None, metrics: &self.metrics(problem, call_stats, cold) });
        if self.signals.is_some() {
            for (code, count) in &self.errors {
                let metrics = [(Metric::SignalsRejected, Some(Value::Count(*count)))];
                let members = [("message", Some(Value::Text("rejected")))];
                write(&EmfRecord { at, members: &members, dimension: Some((CODE, code)), metrics: &metrics });
            }
        }
    }

    fn metrics(
        &self,
        problem: Option<&Problem>,
        call_stats: &CallStats,
        cold: bool,
    ) -> [(Metric, Option<Value<'_>>); 13] {
        let problem_type = problem.map(Problem::problem_type);
        let once = |happened: bool| happened.then_some(Value::Count(1));
        let is = |this: ProblemType| once(problem_type == Some(this));
        let batch = self.signals.as_ref();
        let calls = usize::try_from(call_stats.calls()).unwrap_or(usize::MAX);
        [
            (Metric::SignalsAccepted, batch.map(|signals| Value::Count(signals.accepted))),
            (Metric::SignalsRejected, batch.map(|signals| Value::Count(signals.rejected()))),
            (Metric::RejectionRate, batch.map(|signals| Value::Count(signals.rejected_percent()))),
            (Metric::DeadLetterFailures, once(self.dead_letter_failure)),
            (Metric::CustomersCreated, once(self.upserted == Some(UpsertResult::Created))),
            (Metric::CustomersUpdated, once(self.upserted == Some(UpsertResult::Updated))),
            (Metric::Unauthorized, is(ProblemType::UNAUTHORIZED)),
            (Metric::StorageUnavailable, is(ProblemType::STORAGE_UNAVAILABLE)),
            (Metric::InternalErrors, is(ProblemType::INTERNAL_ERROR)),
            (Metric::Replays, once(batch.is_some_and(|signals| signals.replayed))),
            (Metric::DynamoDbLatency, call_stats.latency().map(Value::Milliseconds)),
            (Metric::DynamoDbCalls, Some(Value::Count(calls))),
            (Metric::ColdStarts, once(cold)),
        ]
    }
}

impl BatchCounts {
    fn rejected(&self) -> usize {
        self.received.saturating_sub(self.accepted)
    }

    fn rejected_percent(&self) -> usize {
        self.rejected().saturating_mul(100).checked_div(self.received).unwrap_or_default()
    }
}

/// A line that is written out without a tree of values in between: each request has one.
struct EmfRecord<'a> {
    at: Timestamp,
    members: &'a [(&'static str, Option<Value<'a>>)],
    dimension: Option<(&'static str, &'static str)>,
    metrics: &'a [(Metric, Option<Value<'a>>)],
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Text(&'a str),
    Count(usize),
    Bool(bool),
    Counts(&'a BTreeMap<&'static str, usize>),
    #[serde(serialize_with = "to_a_hundredth")]
    Milliseconds(Duration),
}

impl Serialize for EmfRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = |value: &Option<Value<'_>>| value.is_some();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.members.iter().filter(|(_, value)| written(value)) {
            map.serialize_entry(name, value)?;
        }
        for (metric, value) in self.metrics.iter().filter(|(_, value)| written(value)) {
            map.serialize_entry(metric.name(), value)?;
        }
        map.serialize_entry(FUNCTION, FUNCTION_NAME.as_str())?;
        if let Some((name, value)) = self.dimension {
            map.serialize_entry(name, value)?;
        }
        let names = std::iter::once(FUNCTION).chain(self.dimension.map(|(name, _)| name)).collect();
        let metrics = self.metrics.iter().filter(|(_, value)| written(value));
        let metrics = metrics.map(|(metric, _)| Declared { name: metric.name(), unit: metric.unit() }).collect();
        let directive = Directive { namespace: NAMESPACE, dimensions: [names], metrics };
        map.serialize_entry("_aws", &Metadata { timestamp: self.at.millis(), cloud_watch_metrics: [directive] })?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata {
    timestamp: u64,
    cloud_watch_metrics: [Directive; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: [Vec<&'static str>; 1],
    metrics: Vec<Declared>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Declared {
    name: &'static str,
    unit: &'static str,
}

fn write(line: &EmfRecord<'_>) {
    // Strings, numbers and maps of them always serialize.
    let text = serde_json::to_string(line).unwrap_or_default();
    tracing::info!(target: EMF_TARGET, line = text.as_str());
}

/// Milliseconds to a hundredth: DynamoDB answers within a few.
fn to_a_hundredth<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 100_000.0).round() / 100.0)
}
