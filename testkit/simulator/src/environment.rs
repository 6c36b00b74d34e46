//! An execution environment: one of the functions, over the AWS of the run, with a clock of its own.
//! This module must not know which requests there are.

use std::sync::Arc;
use std::time::Duration;

use aws::dynamodb::dynamodb;
use aws::queue::Queue;
use aws::s3::Bucket;
use aws::sdk_config::{s3, sdk_config};
use aws::variables::Variables;
use aws_config::SdkConfig;
use customers::CustomersFunction;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use overflow::OverflowFunction;
use service::auth::Authenticator;
use service::telemetry::log::Log;
use signals::{BatchStorage, SignalsFunction};
use store::api_keys::ApiKeysTable;
use store::batch_pipeline::BatchTables;
use store::customers::CustomersTable;
use store::idempotency::IdempotencyTable;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

use crate::aws::Aws;
use crate::aws::connector::EnvironmentConnector;
use crate::aws::dynamodb::{API_KEYS, CUSTOMERS, IDEMPOTENCY, REJECTED_SIGNALS, SIGNALS};
use crate::aws::s3::BUCKET;
use crate::aws::sqs::{DEAD_LETTERS, OVERFLOW};
use crate::log_check;

/// How long signals are kept.
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
    let config = config(connector, &variables);
    let client = dynamodb(&config);
    let batch_tables = |retention| BatchTables {
        idempotency: IdempotencyTable::new(client.clone(), IDEMPOTENCY),
        signals: SignalsTable::new(client.clone(), SIGNALS, retention),
        rejected: RejectedSignalsTable::new(client.clone(), REJECTED_SIGNALS),
    };
    let customers = || CustomersTable::new(client.clone(), CUSTOMERS);
    let overflow_queue = || Queue::new(&config, OVERFLOW);
    let authenticator = || {
        let connection = s3(&variables, &connector.shared()).expect("no variable is missing");
        let table = ApiKeysTable::new(client.clone(), API_KEYS);
        Authenticator::new(table, Bucket::new(BUCKET, connection))
    };
    match kind {
        FunctionKind::Customers => Function::Customers(CustomersFunction::new(
            authenticator(),
            customers(),
            overflow_queue(),
        )),
        FunctionKind::Signals => {
            let storage = BatchStorage {
                tables: batch_tables(Some(RETENTION)),
                overflow_queue: overflow_queue(),
            };
            let identifier = || {
                let bits = fastrand::u128(..).to_be_bytes();
                let uuid = uuid::Builder::from_random_bytes(bits).into_uuid();
                RequestIdentifier::parse(uuid.to_string()).expect("a UUID is an identifier")
            };
            Function::Signals(SignalsFunction::new(authenticator(), storage, identifier))
        }
        FunctionKind::Overflow => Function::Overflow(OverflowFunction {
            customers: customers(),
            batches: batch_tables(None),
            dead_letters: Queue::new(&config, DEAD_LETTERS),
        }),
    }
}

fn config(connector: &EnvironmentConnector, variables: &Variables) -> SdkConfig {
    sdk_config(variables, &connector.shared()).expect("no variable is missing")
}

fn variables(connector: &EnvironmentConnector) -> Variables {
    [
        ("AWS_REGION", connector.region().as_str()),
        ("AWS_ACCESS_KEY_ID", "simulated"),
        ("AWS_SECRET_ACCESS_KEY", "simulated"),
        ("AWS_ENDPOINT_URL", "http://aws.test"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}
