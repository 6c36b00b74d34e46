//! The metrics of the functions: names and units in CloudWatch. Their values come from [`super::request_log`].

/// The namespace of every metric.
pub const NAMESPACE: &str = "Intake";

/// The dimension of every metric: the name of the function, which contains the name of the stack.
pub const FUNCTION: &str = "FunctionName";

/// The second dimension of [`Metric::SignalsRejected`], for its values by error code.
pub const CODE: &str = "Code";

/// The second dimension of [`Metric::Unauthorized`], for its values by reason.
pub const REASON: &str = "Reason";

macro_rules! metrics {
    ($($name:ident $unit:literal $meaning:literal;)*) => {
        /// The metrics of the functions. A test compares the dashboard and the alarms with them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric { $(#[doc = $meaning] $name,)* }

        impl Metric {
            /// All metrics.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in CloudWatch.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Its unit in CloudWatch.
            pub fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit,)* }
            }
        }
    };
}

metrics! {
    SignalsAccepted "Count" "Signals stored or deferred.";
    SignalsDeferred "Count" "Accepted signals sent to the overflow queue.";
    SignalsRejected "Count" "Signals rejected; also by error code, counting the first five errors of each signal.";
    RejectionRate "Percent" "The share of the signals of a request that was rejected.";
    DeadLetterFailures "Count" "Requests whose rejected signals could not be stored.";
    CustomersCreated "Count" "Customers created.";
    CustomersUpdated "Count" "Customers updated.";
    Unauthorized "Count" "Responses with status 401; also by reason.";
    InactiveKeys "Count" "Requests with an API key that has expired or was revoked.";
    KeyDaysLeft "Count" "Whole days until the API key of a request expires, if fewer than 30; not for a key made for under 7 days.";
    StorageUnavailable "Count" "Responses with status 503.";
    InternalErrors "Count" "Responses with status 500.";
    Replays "Count" "Retried requests.";
    SignalsDrained "Count" "Deferred signals that the overflow function stored.";
    AcceptedSignalsRejected "Count" "Deferred signals that the overflow function could only store as rejected ones.";
    DrainDelay "Milliseconds" "The time from a request to the storing of its deferred signals.";
    DrainFailures "Count" "Messages that the overflow function could not drain, or not read.";
    RecordsDelivered "Count" "Records of streams whose events every target has.";
    RecordsSkipped "Count" "Records of streams that are no event, such as that of an expired signal.";
    RecordsUnreadable "Count" "Records of streams that could not be read and are in the failure bucket.";
    RecordsUndelivered "Count" "Records of streams that Lambda will deliver again, because a target or the failure bucket failed.";
    EventPointers "Count" "Events of which the bus got only a pointer.";
    DynamoDbLatency "Milliseconds" "The time from a request's first call to DynamoDB to the end of its last.";
    DynamoDbCalls "Count" "Attempts of calls to DynamoDB.";
    ColdStarts "Count" "First requests of a process.";
}
