//! The one line that is logged of a request: what an operator asks for, and CloudWatch's embedded metrics
//! (the "embedded metric format specification" in the CloudWatch user guide).
//!
//! It holds accounts, key ids, counts and codes: never a key, a customer, a member or a value.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::WHOLE_LINES;
use super::tally::Tally;
use crate::auth::Caller;
use crate::invocation::Invocation;
use crate::model::fault::Fault;
use crate::problem::{Kind, Problem};
use crate::request::Route;
use crate::store::customers::Upserted;

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
    SignalsAccepted "Count" "Signals stored.";
    SignalsRejected "Count" "Signals refused; by code as well, the first five faults of a signal each counted.";
    RejectionRate "Percent" "Of a request's signals, how many were refused.";
    RejectedNotKept "Count" "Requests whose refused signals could not be kept for a replay.";
    CustomersCreated "Count" "Customers that were new.";
    CustomersUpdated "Count" "Customers that were there.";
    Unauthorized "Count" "Answers of 401.";
    StorageUnavailable "Count" "Answers of 503.";
    InternalErrors "Count" "Answers of 500.";
    Replays "Count" "Requests that had come before.";
    StoreLatency "Milliseconds" "From a request's first call to DynamoDB to the end of its last.";
    StoreCalls "Count" "Calls to DynamoDB, each attempt counted.";
    ColdStarts "Count" "First requests of a process.";
}

static FUNCTION_NAME: LazyLock<String> =
    LazyLock::new(|| std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "local".to_owned()));

/// Whether a request has been served by this process.
static WARM: AtomicBool = AtomicBool::new(false);

/// What is told of a request. Filled in as it becomes known.
#[derive(Debug, Default)]
pub struct Record {
    path: Option<&'static str>,
    caller: Option<Caller>,
    bytes: Option<usize>,
    signals: Option<Signals>,
    upserted: Option<Upserted>,
    faults: BTreeMap<&'static str, u64>,
    rejected_not_kept: bool,
}

/// The counts of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    /// In the request.
    pub received: usize,
    /// Stored.
    pub accepted: usize,
    /// Whether the request had come before.
    pub replayed: bool,
}

impl Record {
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
    pub fn signals(&mut self, signals: Signals) {
        self.signals = Some(signals);
    }

    /// Whether the customer is new.
    pub fn customer(&mut self, upserted: Upserted) {
        self.upserted = Some(upserted);
    }

    /// What was wrong.
    pub fn faults<'f>(&mut self, faults: impl IntoIterator<Item = &'f Fault>) {
        for fault in faults {
            let count = self.faults.entry(fault.code.as_str()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Refused signals could not be kept.
    pub fn rejected_not_kept(&mut self) {
        self.rejected_not_kept = true;
    }

    /// Writes the line, and one more for each code by which signals were refused.
    pub(crate) fn write(&self, invocation: &Invocation, problem: Option<&Problem>, tally: &Tally, took: Duration) {
        let cold = !WARM.swap(true, Ordering::Relaxed);
        let metrics = self.metrics(problem, tally, cold);
        let rejected = self.signals.map(|signals| signals.received.saturating_sub(signals.accepted));
        let kind = problem.map(Problem::kind);
        let line = json!({
            "level": "INFO",
            "message": "request",
            "timestamp": invocation.arrived.to_string(),
            "requestId": invocation.id,
            "path": self.path,
            "status": kind.map_or(200, |kind| kind.status),
            "code": kind.map_or("ok", |kind| kind.code),
            "accountId": self.caller.as_ref().map(|caller| caller.account_id.as_str()),
            "keyId": self.caller.as_ref().map(|caller| &caller.key_id),
            "bytes": self.bytes,
            "received": self.signals.map(|signals| signals.received),
            "accepted": self.signals.map(|signals| signals.accepted),
            "rejected": rejected,
            "replayed": self.signals.map(|signals| signals.replayed),
            "result": self.upserted,
            "faults": self.faults,
            "storage": match problem {
                Some(Problem::StorageUnavailable { error, .. }) => Some(error.to_string()),
                _ => None,
            },
            "milliseconds": milliseconds(took),
            "cold": cold,
        });
        write_with_metrics(line, &[], &metrics, invocation);
        if self.signals.is_some() {
            for (code, count) in &self.faults {
                let by_code = [(Metric::SignalsRejected, json!(count))];
                write_with_metrics(json!({"message": "rejected"}), &[(CODE, code)], &by_code, invocation);
            }
        }
    }

    fn metrics(&self, problem: Option<&Problem>, tally: &Tally, cold: bool) -> Vec<(Metric, Value)> {
        let kind = problem.map(Problem::kind);
        let is = |this: Kind| (kind == Some(this)).then(|| json!(1));
        let once = |happened: bool| happened.then(|| json!(1));
        let batch = self.signals;
        let rejected = batch.map(|signals| signals.received.saturating_sub(signals.accepted));
        let all = [
            (Metric::SignalsAccepted, batch.map(|signals| json!(signals.accepted))),
            (Metric::SignalsRejected, rejected.map(|count| json!(count))),
            (
                Metric::RejectionRate,
                batch.zip(rejected).map(|(signals, count)| json!(percent(count, signals.received))),
            ),
            (Metric::RejectedNotKept, once(self.rejected_not_kept)),
            (Metric::CustomersCreated, once(self.upserted == Some(Upserted::Created))),
            (Metric::CustomersUpdated, once(self.upserted == Some(Upserted::Updated))),
            (Metric::Unauthorized, is(Kind::UNAUTHORIZED)),
            (Metric::StorageUnavailable, is(Kind::STORAGE_UNAVAILABLE)),
            (Metric::InternalErrors, is(Kind::INTERNAL_ERROR)),
            (Metric::Replays, once(batch.is_some_and(|signals| signals.replayed))),
            (Metric::StoreLatency, tally.latency().map(|latency| json!(milliseconds(latency)))),
            (Metric::StoreCalls, Some(json!(tally.calls()))),
            (Metric::ColdStarts, once(cold)),
        ];
        all.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect()
    }
}

fn write_with_metrics(
    mut line: Value,
    dimensions: &[(&'static str, &str)],
    metrics: &[(Metric, Value)],
    invocation: &Invocation,
) {
    let Some(members) = line.as_object_mut() else { return };
    let names = dimensions.iter().map(|(name, _)| *name);
    let directive = json!({
        "Namespace": NAMESPACE,
        "Dimensions": [std::iter::once(FUNCTION).chain(names).collect::<Vec<_>>()],
        "Metrics": metrics.iter().map(|(metric, _)| json!({"Name": metric.name(), "Unit": metric.unit()})).collect::<Vec<_>>(),
    });
    members
        .insert("_aws".to_owned(), json!({"Timestamp": invocation.arrived.millis(), "CloudWatchMetrics": [directive]}));
    members.insert(FUNCTION.to_owned(), json!(*FUNCTION_NAME));
    members.extend(dimensions.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    members.extend(metrics.iter().map(|(metric, value)| (metric.name().to_owned(), value.clone())));
    members.retain(|_, value| !value.is_null());
    tracing::info!(target: WHOLE_LINES, line = line.to_string().as_str());
}

fn percent(part: usize, whole: usize) -> u64 {
    u64::try_from(part.saturating_mul(100).checked_div(whole).unwrap_or_default()).unwrap_or_default()
}

fn milliseconds(duration: Duration) -> f64 {
    // To a hundredth: DynamoDB answers within a few.
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}
