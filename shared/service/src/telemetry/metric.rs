//! Metrics: their values are in log lines, under their names in CloudWatch. Each crate lists those
//! that it writes, with [`metrics!`](crate::metrics).

use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// The namespace of every metric.
pub const NAMESPACE: &str = "Intake";

/// The dimension of every metric: the name of the function, which contains the name of the stack.
pub const FUNCTION: &str = "FunctionName";

/// The second dimension of [`RequestMetric::Unauthorized`], for its values by reason.
pub const REASON: &str = "Reason";

/// A duration, in milliseconds with two decimals: DynamoDB responds within a few.
#[derive(Clone, Copy, Debug)]
pub struct Milliseconds(pub Duration);

impl Serialize for Milliseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((self.0.as_secs_f64() * 100_000.0).round() / 100.0)
    }
}

/// A percentage, with two decimals: 1 of 500 is 0.2.
#[derive(Clone, Copy, Debug)]
pub struct Percent {
    pub part: usize,
    pub whole: usize,
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let percent = count(self.part) / count(self.whole) * 100.0;
        serializer.serialize_f64((percent * 100.0).round() / 100.0)
    }
}

/// Declares the metrics of a crate, each with its meaning, as an enum. A test compares the
/// dashboard and the alarms with them.
#[macro_export]
macro_rules! metrics {
    ($metric:ident { $($name:ident $meaning:literal;)* }) => {
        /// A metric of this crate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $metric { $(#[doc = $meaning] $name,)* }

        impl $metric {
            /// Every metric, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

metrics! {
    RequestMetric {
        Unauthorized "Responses with status 401; also by reason.";
        InactiveKeys "Requests with an API key that has expired or was revoked.";
        KeyDaysLeft "Whole days until the API key of a request expires, if fewer than 30; not for a key made for under 7 days.";
        KeyTableUnavailable "Requests whose API key was checked by the key snapshot or a stale entry of the cache, because the key table could not be read: a call failed, or it was silent for a second.";
        StorageUnavailable "Responses with status 503.";
        InternalErrors "Responses with status 500.";
        InvalidCalls "Requests that were valid, and for which the function made a call that DynamoDB found invalid.";
        AccessErrors "Requests for which DynamoDB denied access to a table or its KMS key, or did not know the table.";
        DynamoDbLatency "Milliseconds from a request's first call to DynamoDB to the response or the timeout of its last.";
        ColdStarts "First requests of a process.";
    }
}

/// The metrics of a line with their values, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Metrics(Vec<MetricValue>);

#[derive(Debug)]
struct MetricValue {
    name: &'static str,
    value: MetricNumber,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum MetricNumber {
    Count(usize),
    Milliseconds(Milliseconds),
    Percent(Percent),
}

impl Metrics {
    /// Adds a number of things, also when it is 0.
    pub fn add_count(&mut self, name: &'static str, count: usize) {
        let value = MetricNumber::Count(count);
        self.0.push(MetricValue { name, value });
    }

    /// Adds a number of things, unless it is 0.
    pub fn add_count_if_any(&mut self, name: &'static str, count: usize) {
        if count > 0 {
            self.add_count(name, count);
        }
    }

    /// Adds a 1 if something happened.
    pub fn add_if(&mut self, name: &'static str, happened: bool) {
        self.add_count_if_any(name, usize::from(happened));
    }

    pub fn add_duration(&mut self, name: &'static str, duration: Duration) {
        let value = MetricNumber::Milliseconds(Milliseconds(duration));
        self.0.push(MetricValue { name, value });
    }

    pub fn add_percent(&mut self, name: &'static str, percent: Percent) {
        let value = MetricNumber::Percent(percent);
        self.0.push(MetricValue { name, value });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|metric| metric.name)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for metric in &self.0 {
            map.serialize_entry(metric.name, &metric.value)?;
        }
        map.end()
    }
}
