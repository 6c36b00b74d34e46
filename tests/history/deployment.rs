//! What a run needs of AWS: the tables, the queue, the key snapshot, and the three functions, each
//! behind its own faults. This module must not know what is sent.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use consistency::generated::account_id;
use emulator::Emulator;
use emulator::fault_proxy::{Capacity, CapacityLimits, FaultProxy, Plan};
use emulator::sqs::FakeSqs;
use processes::function_process::ProcessOptions;
use processes::pool::{Pool, PoolOptions, ProcessFailure};
use processes::process_clock::ProcessClock;
use processes::runtime_api::EventQueue;
use store::customers::CustomersTable;
use testkit::fake_s3::FakeS3;
use testkit::{
    TestApp, aws_variables, create_keys_with_snapshot, dynamodb_at, emulator_options, table_name,
};
use tokio::sync::mpsc;

use crate::clock::ahead;
use crate::faults::{dynamodb_faults, sqs_faults};
use crate::options::{RunOptions, RunPart};
use crate::windows::FaultWindows;

/// How long signals are kept.
pub(super) const RETENTION: Duration = Duration::from_hours(30 * 24);

/// Events after which a process is replaced: a few requests of each client.
const LIFETIME: RangeInclusive<u64> = 5..=40;

/// Events that every second process serves at once.
const AT_ONCE: u16 = 4;

/// Accounts, and keys of each. Clients of one account share its customers.
pub(super) const ACCOUNTS: u32 = 3;
const KEYS_PER_ACCOUNT: usize = 2;

/// New tables, a quarter as large as on AWS, since what runs here sends less, and growing within a
/// run.
const LIMITS: CapacityLimits = CapacityLimits {
    units_per_partition: 250.0,
    partitions: 4,
    burst: Duration::from_mins(5),
    doubles_after: Duration::from_secs(20),
};

pub(super) struct Deployment {
    pub(super) emulator: Emulator,
    pub(super) queue: Arc<FakeSqs>,
    _s3: FakeS3,
    sqs_proxy: FaultProxy,
    s3_proxy: FaultProxy,
    pub(super) signals: DeployedFunction,
    pub(super) customers: DeployedFunction,
    pub(super) overflow: DeployedFunction,
    /// The API keys. The table and the snapshot have them.
    pub(super) keys: Vec<AccountKey>,
    capacity: Capacity,
}

/// A function, with its own way to DynamoDB.
pub(super) struct DeployedFunction {
    pub(super) pool: Arc<Pool>,
    pub(super) proxy: FaultProxy,
    pub(super) events: EventQueue,
}

/// An API key with the number of its account.
pub(super) struct AccountKey {
    pub(super) account: u32,
    pub(super) key: String,
}

/// What all functions of a run have in common.
struct Surroundings<'a> {
    options: &'a RunOptions,
    windows: &'a FaultWindows,
    log: &'a mpsc::UnboundedSender<String>,
    emulator: String,
    s3: String,
    clock: Arc<ProcessClock>,
    capacity: Capacity,
}

impl Deployment {
    /// Starts everything; every process writes its log to `log`.
    ///
    /// # Errors
    /// When the clock cannot be compiled, or a program cannot be started.
    pub(super) async fn start(
        options: &RunOptions,
        windows: &FaultWindows,
        log: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        let emulator = TestApp::emulator();
        let clock = Arc::new(ProcessClock::compile()?);
        let queue = FakeSqs::start().await?;
        queue.allow_all_receives();
        let s3 = FakeS3::start().await?;
        let keys = create_keys(&emulator.endpoint(), &s3).await;
        let sqs_proxy = start_sqs_proxy(options, windows, &queue).await?;
        let s3_proxy = start_s3_proxy(options, windows, &s3).await?;
        let surroundings = Surroundings {
            options,
            windows,
            log,
            emulator: emulator.endpoint(),
            s3: s3_proxy.endpoint(),
            clock,
            capacity: capacity(options),
        };
        let sqs = sqs_proxy.endpoint();
        let signals = surroundings.start_function("signals", 0, &sqs).await?;
        let customers = surroundings.start_function("customers", 1, &sqs).await?;
        // This function reaches SQS past the faults.
        let overflow = surroundings
            .start_function("overflow", 2, &queue.endpoint())
            .await?;
        let capacity = surroundings.capacity;
        Ok(Self {
            emulator,
            queue: Arc::new(queue),
            _s3: s3,
            sqs_proxy,
            s3_proxy,
            signals,
            customers,
            overflow,
            keys,
            capacity,
        })
    }

    pub(super) fn functions(&self) -> [&DeployedFunction; 3] {
        [&self.signals, &self.customers, &self.overflow]
    }

    /// The table of the customers, as the function reaches it that writes it.
    pub(super) fn customers_table(&self) -> CustomersTable {
        let endpoint = self.customers.proxy.endpoint();
        CustomersTable::new(dynamodb_at(&endpoint), table_name("CustomersTable"))
    }

    /// Ends all faults. The capacity of the tables stays limited.
    pub(super) fn end_faults(&self) {
        self.sqs_proxy.set(Plan::none());
        self.s3_proxy.set(Plan::none());
        for function in self.functions() {
            let plan = Plan::none().capacity(self.capacity.clone());
            function.proxy.set(plan);
        }
    }

    /// The emulator alone, with what is stored in it. Everything else is dropped.
    pub(super) fn into_emulator(self) -> Emulator {
        self.emulator
    }

    /// Ends the functions, and waits until nothing that they sent is on its way.
    pub(super) async fn end(&self) {
        for function in self.functions() {
            function.pool.end(Duration::ZERO).await;
            function.proxy.idle().await;
        }
    }
}

/// Starts the proxy before SQS, which fails in windows and now and then.
async fn start_sqs_proxy(
    options: &RunOptions,
    windows: &FaultWindows,
    queue: &FakeSqs,
) -> Result<FaultProxy> {
    let mut rules = windows.rules_of_sqs_and_s3();
    rules.extend(sqs_faults());
    let plan = Plan::new(rules).seed(options.seed_of(RunPart::OtherFaults));
    FaultProxy::start(&queue.endpoint(), plan).await
}

/// Starts the proxy before S3, which fails in windows.
async fn start_s3_proxy(
    options: &RunOptions,
    windows: &FaultWindows,
    s3: &FakeS3,
) -> Result<FaultProxy> {
    let rules = windows.rules_of_sqs_and_s3();
    let plan = Plan::new(rules).seed(options.seed_of(RunPart::OtherFaults));
    FaultProxy::start(&s3.endpoint(), plan).await
}

/// The capacity of the tables. In an outage it is that of AWS.
fn capacity(options: &RunOptions) -> Capacity {
    let limits = match options.outage {
        Some(_) => CapacityLimits::default(),
        None => LIMITS,
    };
    Capacity::new(limits)
}

impl Surroundings<'_> {
    /// Starts the function of this program, whose number decides its seed, with SQS at this
    /// endpoint.
    async fn start_function(
        &self,
        program: &str,
        number: u64,
        sqs: &str,
    ) -> Result<DeployedFunction> {
        let seed = self.options.seed_of(RunPart::Function(number));
        let plan = Plan::new(self.windows.rules().into_iter().chain(dynamodb_faults()))
            .capacity(self.capacity.clone())
            .seed(seed);
        let proxy = FaultProxy::start(&self.emulator, plan).await?;
        let program = self.options.programs.join(program);
        let mut process = emulator_options(&program, &proxy.endpoint());
        process.log = Some(self.log.clone());
        process.variables.extend(aws_variables(sqs, &self.s3));
        let retention_days = RETENTION.as_secs() / 86_400;
        process.variables.push((
            "SIGNAL_RETENTION_DAYS".to_owned(),
            retention_days.to_string().into(),
        ));
        let events = EventQueue::default();
        let pool = Pool::start(PoolOptions {
            events: events.clone(),
            process: numbered(process, self.clock.clone()),
            at_once: usize::MAX,
            lifetime: LIFETIME,
            seed,
            report,
        });
        Ok(DeployedFunction {
            pool,
            proxy,
            events,
        })
    }
}

/// The options of a process by its number: every second one serves several events at once, and each
/// has its own clock.
fn numbered(
    process: ProcessOptions,
    clock: Arc<ProcessClock>,
) -> Box<dyn Fn(u64) -> ProcessOptions + Send + Sync> {
    Box::new(move |number| {
        let at_once = if number.is_multiple_of(2) { 1 } else { AT_ONCE };
        let mut process = ProcessOptions {
            concurrency: Some(at_once),
            ..process.clone()
        };
        process.variables.extend(clock.ahead(ahead(number)));
        process
    })
}

/// Ends the run when a program cannot be started. A process that ended by itself is counted.
fn report(program: &Path, failure: &ProcessFailure) {
    if let ProcessFailure::NotStarted(_) = failure {
        panic!("{} {failure}", program.display());
    }
}

/// Creates the keys of all accounts, in the table and in the snapshot.
async fn create_keys(endpoint: &str, s3: &FakeS3) -> Vec<AccountKey> {
    let mut accounts = Vec::new();
    for account in 0..ACCOUNTS {
        accounts.extend([account; KEYS_PER_ACCOUNT]);
    }
    let account_ids: Vec<_> = accounts.iter().copied().map(account_id).collect();
    let keys = create_keys_with_snapshot(endpoint, s3, &account_ids).await;
    accounts
        .into_iter()
        .zip(keys)
        .map(|(account, key)| AccountKey { account, key })
        .collect()
}
