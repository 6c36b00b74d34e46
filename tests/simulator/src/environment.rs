//! An execution environment: one of the functions, over the AWS of the run, with a clock of its own.
//! This module must not know which requests there are.

use std::sync::Arc;
use std::time::Duration;

use aws::connectors::Connectors;
use aws::dynamodb::dynamodb;
use aws::sdk_config::sdk_config;
use aws::sqs::Queue;
use aws::variables::Variables;
use aws_config::SdkConfig;
use customers::CustomersFunction;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
use service::telemetry::log::Log;
use signals::SignalsFunction;
use store::api_keys::ApiKeysTable;
use store::customers::CustomersTable;
use store::idempotency::IdempotencyTable;
use store::key_snapshot::BUCKET_VARIABLE;
use store::overflow_messages::{DEAD_LETTER_QUEUE_VARIABLE, QUEUE_VARIABLE};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

use crate::aws::Aws;
use crate::aws::connector::EnvironmentConnector;
use crate::aws::dynamodb::{API_KEYS, CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS};
use crate::aws::s3::BUCKET;
use crate::aws::sqs::{DEAD_LETTERS, OVERFLOW};
use crate::log_check;

/// The retention of signals.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);

/// How far the clock of any environment is ahead, at most.
pub const MAX_AHEAD: Duration = Duration::from_mins(1);

/// One environment of this many is ahead by that.
const FAR_AHEAD_EVERY: u64 = 16;

/// How far the others are ahead, in turn.
const AHEAD: [u64; 3] = [0, 700, 2_000];

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    Customers,
    Signals,
    Overflow,
}

/// A function in its environment.
pub enum Function {
    Customers(CustomersFunction),
    Signals(SignalsFunction),
    Overflow(OverflowFunction),
}

/// An environment that runs.
pub struct Environment {
    pub name: Arc<str>,
    pub function: Function,
    /// How far its clock is ahead.
    pub ahead: Duration,
    pub log: Log,
    /// Events that it still serves before it is replaced.
    pub left: u32,
    connector: EnvironmentConnector,
}

impl FunctionKind {
    fn name(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Signals => "signals",
            Self::Overflow => "overflow",
        }
    }
}

impl Environment {
    /// Starts the `number`-th environment of a function, as Lambda and the function's `main` do.
    pub async fn start(
        aws: &Aws,
        kind: FunctionKind,
        number: u64,
        left: u32,
        has_clock_of_its_own: bool,
    ) -> Self {
        let name: Arc<str> = format!("{} {number}", kind.name()).into();
        let connector = EnvironmentConnector::new(aws.clone(), &name);
        let environment = Self {
            function: function(kind, &connector),
            ahead: if has_clock_of_its_own {
                ahead(number)
            } else {
                Duration::ZERO
            },
            log: log_check::log(aws.clone()),
            left,
            connector,
            name,
        };
        let now = environment.now(aws);
        match &environment.function {
            Function::Customers(function) => warm_up(function, now).await,
            Function::Signals(function) => warm_up(function, now).await,
            Function::Overflow(_) => {}
        }
        environment
    }

    /// The time of its clock.
    pub fn now(&self, aws: &Aws) -> Timestamp {
        aws.now().plus(self.ahead)
    }

    /// Ends it: it makes no further call.
    pub fn end(&self) {
        self.connector.end();
    }
}

async fn warm_up(function: &impl service::runtime::http::HttpFunction, now: Timestamp) {
    function.authenticator().warm_up(now).await;
}

/// How far the clock of the `number`-th environment is ahead.
fn ahead(number: u64) -> Duration {
    if number % FAR_AHEAD_EVERY == FAR_AHEAD_EVERY / 2 {
        return MAX_AHEAD;
    }
    let turn = usize::try_from(number).unwrap_or_default() % AHEAD.len();
    Duration::from_millis(AHEAD[turn])
}

/// The table of the customers, as an operator at this connector writes it.
pub fn customers_table(connector: &EnvironmentConnector) -> CustomersTable {
    CustomersTable::new(
        dynamodb(&config(connector, &variables(connector))),
        CUSTOMERS,
    )
}

/// The overflow queue, as an operator at this connector sends messages to it.
pub fn overflow_queue(connector: &EnvironmentConnector) -> Queue {
    Queue::new(&config(connector, &variables(connector)), OVERFLOW)
}

/// The function with the calls of this connector.
pub fn function(kind: FunctionKind, connector: &EnvironmentConnector) -> Function {
    let variables = variables(connector);
    let connectors = Connectors {
        dynamodb: connector.shared(),
        sqs: connector.shared(),
        s3: connector.shared(),
    };
    let function = match kind {
        FunctionKind::Customers => {
            CustomersFunction::new(&variables, &connectors).map(Function::Customers)
        }
        FunctionKind::Signals => {
            SignalsFunction::new(&variables, &connectors, drawn_identifier).map(Function::Signals)
        }
        FunctionKind::Overflow => {
            OverflowFunction::new(&variables, &connectors).map(Function::Overflow)
        }
    };
    function.expect("no variable is missing")
}

fn drawn_identifier() -> RequestIdentifier {
    let bits = fastrand::u128(..).to_be_bytes();
    let uuid = uuid::Builder::from_random_bytes(bits).into_uuid();
    RequestIdentifier::parse(uuid.to_string()).expect("a UUID is an identifier")
}

fn config(connector: &EnvironmentConnector, variables: &Variables) -> SdkConfig {
    sdk_config(variables, &connector.shared()).expect("no variable is missing")
}

fn variables(connector: &EnvironmentConnector) -> Variables {
    let region = connector.region();
    let days = (RETENTION.as_secs() / (24 * 60 * 60)).to_string();
    [
        ("AWS_REGION", region.as_str()),
        ("AWS_ACCESS_KEY_ID", "simulated"),
        ("AWS_SECRET_ACCESS_KEY", "simulated"),
        ("AWS_ENDPOINT_URL", "http://aws.test"),
        (ApiKeysTable::VARIABLE, API_KEYS),
        (CustomersTable::VARIABLE, CUSTOMERS),
        (IdempotencyTable::VARIABLE, IDEMPOTENCY),
        (SignalsTable::VARIABLE, SIGNALS),
        (RejectedSignalsTable::VARIABLE, REJECTED_SIGNALS),
        (SignalsTable::RETENTION_VARIABLE, &days),
        (QUEUE_VARIABLE, OVERFLOW),
        (DEAD_LETTER_QUEUE_VARIABLE, DEAD_LETTERS),
        (BUCKET_VARIABLE, BUCKET),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}
