//! The metrics of the two endpoints and of the drain: their names in CloudWatch. The values are in
//! the log lines of `request_log` and `drain_log`.

/// The namespace of every metric.
pub const NAMESPACE: &str = "Intake";

/// The dimension of every metric: the name of the function, which contains the name of the stack.
pub const FUNCTION: &str = "FunctionName";

/// The second dimension of [`Metric::SignalsRejected`], for its values by error code.
pub const CODE: &str = "Code";

/// The second dimension of [`Metric::Unauthorized`], for its values by reason.
pub const REASON: &str = "Reason";

macro_rules! metrics {
    ($($name:ident $meaning:literal;)*) => {
        /// A metric. A test compares the dashboard and the alarms with them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric { $(#[doc = $meaning] $name,)* }

        impl Metric {
            /// Every metric, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        impl AsRef<str> for Metric {
            /// The name of the metric in CloudWatch.
            fn as_ref(&self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

metrics! {
    SignalsAccepted "Signals stored or deferred.";
    SignalsDeferred "Accepted signals sent to the overflow queue.";
    SignalsRejected "Signals rejected; also by error code, counting the first five errors of each signal.";
    RejectionRate "The percentage of the signals of a request that was rejected, if any was.";
    RejectedNotStored "Requests whose rejected signals could not be stored.";
    CustomersCreated "Customers created.";
    CustomersUpdated "Customers updated.";
    CustomersDeferred "Updates of customers sent to the overflow queue.";
    Unauthorized "Responses with status 401; also by reason.";
    InactiveKeys "Requests with an API key that has expired or was revoked.";
    KeyDaysLeft "Whole days until the API key of a request expires, if fewer than 30; not for a key made for under 7 days.";
    KeyTableUnavailable "Requests whose API key was checked by the key snapshot or an entry read before, because the key table could not be read.";
    StorageUnavailable "Responses with status 503.";
    InternalErrors "Responses with status 500.";
    Replays "Retried requests.";
    SignalsDrained "Deferred signals that the overflow function stored.";
    CustomersDrained "Deferred updates of customers that the overflow function stored, or found replaced by newer ones.";
    AcceptedSignalsRejected "Deferred signals that the overflow function could only store as rejected ones.";
    DrainDelay "Milliseconds from a request to the storing of its deferred signals.";
    DrainFailures "Messages that the overflow function could not drain, or not read.";
    DynamoDbLatency "Milliseconds from a request's first call to DynamoDB to the end of its last.";
    ColdStarts "First requests of a process.";
}
