//! What a run needs of AWS: the tables, the queue, the key snapshot, and the three functions, each
//! behind its own faults. Must not know what is sent.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use emulator::Emulator;
use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use store::customers::CustomersTable;
use tokio::sync::mpsc;

use crate::clock::SkewedClock;
use crate::load::account_id;
use crate::options::Options;
use crate::windows::Windows;
use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use fault_proxy::{Capacity, Fault, FaultProxy, Limits, Plan, Rule};
use sandbox::function_process::ProcessOptions;
use sandbox::pool::{Failure, Pool, PoolOptions};
use sandbox::runtime_api::EventQueue;
use testkit::fake_s3::FakeS3;
use testkit::{KEY_SNAPSHOT_BUCKET, Tables, TestApp, create_key, dynamodb_at, emulator_options};

/// The share of the calls to DynamoDB that are faulted independently, beside the windows in which
/// many fail.
const FAULTS: f64 = 0.1;

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
const LIMITS: Limits = Limits {
    units_per_partition: 250.0,
    partitions: 4,
    burst: Duration::from_mins(5),
    doubles_after: Duration::from_secs(20),
};

/// The functions with their timeouts.
const FUNCTIONS: [(&str, Duration); 3] = [
    ("signals", Duration::from_secs(10)),
    ("customers", Duration::from_secs(10)),
    ("overflow", Duration::from_mins(1)),
];

pub(super) struct Deployment {
    pub(super) emulator: Emulator,
    pub(super) queue: Rc<FakeSqs>,
    _s3: FakeS3,
    /// The ways to SQS and to S3.
    others: [FaultProxy; 2],
    pub(super) functions: Vec<(Arc<Pool>, FaultProxy)>,
    /// The events of the functions, in their order.
    pub(super) events: [EventQueue; FUNCTIONS.len()],
    /// The API keys with the numbers of their accounts. The table and the snapshot have them.
    pub(super) keys: Vec<(u32, String)>,
    capacity: Capacity,
}

impl Deployment {
    /// Starts everything; every process writes its log to `log`.
    ///
    /// # Errors
    /// When the clock cannot be compiled, or a program cannot be started.
    pub(super) async fn start(
        options: &Options,
        windows: &Windows,
        log: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        let emulator = TestApp::emulator();
        let clock = Arc::new(SkewedClock::compile()?);
        let (queue, s3) = (FakeSqs::start().await?, FakeS3::start().await?);
        queue.allow_all_receives();
        let keys = create_keys(&emulator.endpoint(), &s3).await;
        let plan = |faults| {
            Plan::of(windows.rules_of_others().into_iter().chain(faults)).seed(options.seed)
        };
        let sqs = FaultProxy::start(&queue.endpoint(), plan(queue_faults())).await?;
        let snapshot = FaultProxy::start(&s3.endpoint(), plan(Vec::new())).await?;
        let capacity = Capacity::new(if options.outage.is_some() {
            Limits::default()
        } else {
            LIMITS
        });
        let events = <[EventQueue; FUNCTIONS.len()]>::default();
        let mut functions = Vec::new();
        for (((program, timeout), events), number) in FUNCTIONS.into_iter().zip(&events).zip(0..) {
            let seed = options.seed.wrapping_mul(1_000).wrapping_add(number);
            let plan = Plan::of(windows.rules().into_iter().chain(faults()));
            let proxy = FaultProxy::start(
                &emulator.endpoint(),
                plan.capacity(capacity.clone()).seed(seed),
            )
            .await?;
            let mut process = emulator_options(&options.programs.join(program), &proxy.endpoint());
            process.log = Some(log.clone());
            process.invocation_timeout = timeout;
            let sqs = if program == "overflow" {
                queue.endpoint()
            } else {
                sqs.endpoint()
            };
            process
                .variables
                .extend(variables(sqs, snapshot.endpoint()));
            let of_pool = PoolOptions {
                events: events.clone(),
                process: numbered(process, clock.clone()),
                at_once: usize::MAX,
                lifetime: LIFETIME,
                seed,
                report,
            };
            functions.push((Pool::start(of_pool), proxy));
        }
        Ok(Self {
            emulator,
            queue: Rc::new(queue),
            _s3: s3,
            others: [sqs, snapshot],
            functions,
            events,
            keys,
            capacity,
        })
    }

    /// The table of the customers, as the function reaches it that writes it.
    pub(super) fn customers(&self) -> CustomersTable {
        let [_, (_, proxy), ..] = self.functions.as_slice() else {
            panic!("a deployment has the function that updates customers");
        };
        CustomersTable::new(
            dynamodb_at(&proxy.endpoint()),
            Tables::name("CustomersTable"),
        )
    }

    /// Ends all faults. The capacity of the tables stays limited.
    pub(super) fn end_faults(&self) {
        for proxy in &self.others {
            proxy.set(Plan::none());
        }
        for (_, proxy) in &self.functions {
            proxy.set(Plan::none().capacity(self.capacity.clone()));
        }
    }

    /// Ends the functions, and waits until nothing that they sent is on its way.
    pub(super) async fn end(&self) {
        for (function, proxy) in &self.functions {
            function.end(Duration::ZERO).await;
            proxy.idle().await;
        }
    }
}

/// The options of a process by its number: every second one serves several events at once, and each
/// has its own clock.
fn numbered(
    process: ProcessOptions,
    clock: Arc<SkewedClock>,
) -> Box<dyn Fn(u64) -> ProcessOptions + Send + Sync> {
    Box::new(move |number| {
        let at_once = if number.is_multiple_of(2) { 1 } else { AT_ONCE };
        let mut process = ProcessOptions {
            concurrency: Some(at_once),
            ..process.clone()
        };
        clock.set(&mut process, number);
        process
    })
}

fn report(program: &Path, failure: Failure) {
    if let Failure::NotStarted(error) = failure {
        panic!("{} cannot be started: {error:#}", program.display());
    }
}

/// Keys with the numbers of their accounts, in the table and in the snapshot.
async fn create_keys(endpoint: &str, s3: &FakeS3) -> Vec<(u32, String)> {
    let (mut keys, mut records) = (Vec::new(), Vec::new());
    for account in (0..ACCOUNTS).flat_map(|account| [account; KEYS_PER_ACCOUNT]) {
        let key = create_key(endpoint, &account_id(account), |record| {
            records.push(record.clone());
        })
        .await;
        keys.push((account, key));
    }
    let records: Vec<_> = keys
        .iter()
        .map(|(_, key)| KeyHash::of(key))
        .zip(records)
        .collect();
    s3.publish(&records, Timestamp::now());
    keys
}

/// The variables that template.yaml sets, with SQS and S3 at these endpoints.
fn variables(sqs: String, s3: String) -> [(String, OsString); 6] {
    let retention = (RETENTION.as_secs() / 86_400).to_string();
    [
        ("AWS_ENDPOINT_URL_SQS", sqs),
        ("AWS_ENDPOINT_URL_S3", s3),
        ("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET.to_owned()),
        ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE.to_owned()),
        ("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE.to_owned()),
        ("SIGNAL_RETENTION_DAYS", retention),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
}

/// Every kind of fault but refused credentials, which end a process.
fn faults() -> impl Iterator<Item = Rule> {
    let parts = [
        (Fault::Throttled, 0.2),
        (Fault::TableThrottled, 0.08),
        (Fault::InternalServerError, 0.15),
        (Fault::ServiceUnavailable, 0.08),
        (Fault::ResetBefore, 0.12),
        (Fault::ResetAfter, 0.17),
        (Fault::CutBody, 0.06),
        (Fault::Slow(Duration::from_millis(40)), 0.05),
        (Fault::Stall, 0.002),
        (Fault::Late(Duration::from_millis(10)), 0.002),
        (Fault::Late(Duration::from_secs(3)), 0.002),
        (Fault::Unprocessed { done: 0 }, 0.04),
        (Fault::Unprocessed { done: 1 }, 0.04),
        (Fault::Unprocessed { done: 12 }, 0.06),
    ];
    parts
        .into_iter()
        .map(move |(fault, part)| fault.in_share(FAULTS * part))
}

/// Seldom enough that no message fails three times in a row.
fn queue_faults() -> Vec<Rule> {
    let parts = [
        (Fault::ServiceUnavailable, 0.04),
        (Fault::ResetAfter, 0.04),
        (Fault::CutBody, 0.02),
    ];
    parts
        .into_iter()
        .map(|(fault, part)| fault.in_share(FAULTS * part))
        .collect()
}
