//! One build and what it needs of AWS, for one run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use emulator::Emulator;
use emulator::sqs::FakeSqs;
use fault_proxy::{FaultProxy, Plan};
use sandbox::function_process::ProcessOptions;
use sandbox::pool::{Pool, PoolOptions, ProcessFailure};
use sandbox::runtime_api::EventQueue;
use testkit::fake_s3::FakeS3;
use testkit::{TestApp, aws_variables, create_keys_with_snapshot, emulator_options};
use tokio::task::JoinSet;

use crate::build::Build;
use crate::request_kind::RequestKind;

/// The account of the one API key.
const ACCOUNT: &str = "outages";

/// How long nearly all requests take at most. As many processes are prepared as requests arrive in
/// this time.
const SECONDS_OF_A_REQUEST: u64 = 4;

/// Processes that start at once.
const AT_ONCE: u64 = 4;

/// A build's functions with a DynamoDB, an SQS and an S3 of their own.
pub(crate) struct BuildStack {
    pub(crate) emulator: Emulator,
    /// What the function that serves requests calls in DynamoDB's place.
    pub(crate) dynamodb: FaultProxy,
    pub(crate) queue: Arc<FakeSqs>,
    _s3: FakeS3,
    pub(crate) key: String,
    /// The events of the function that serves requests.
    pub(crate) requests: EventQueue,
    /// The events of the function that drains the queue.
    pub(crate) drains: EventQueue,
    serving: Arc<Pool>,
    draining: Arc<Pool>,
}

impl BuildStack {
    /// Starts everything but processes.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub(crate) async fn start(build: &Build, kind: RequestKind) -> Result<Self> {
        let emulator = TestApp::emulator();
        let s3 = FakeS3::start().await?;
        let queue = FakeSqs::start().await?;
        queue.allow_all_receives();
        let dynamodb = FaultProxy::start(&emulator.endpoint(), Plan::none()).await?;
        let accounts = [ACCOUNT.to_owned()];
        let mut keys = create_keys_with_snapshot(&emulator.endpoint(), &s3, &accounts).await;
        let key = keys.pop().context("the account has no key")?;
        let requests = EventQueue::default();
        let drains = EventQueue::default();
        let process = |program: &str, dynamodb: &str| {
            let mut process = emulator_options(&build.folder.join(program), dynamodb);
            let variables = aws_variables(&queue.endpoint(), &s3.endpoint());
            process.variables.extend(variables);
            // Ctrl-C ends this program, which then ends its processes.
            process.has_own_group = true;
            process
        };
        let serving_options = process(kind.program(), &dynamodb.endpoint());
        let draining_options = process("overflow", &emulator.endpoint());
        let serving = start_pool(&requests, serving_options);
        let draining = start_pool(&drains, draining_options);
        Ok(Self {
            emulator,
            dynamodb,
            queue: Arc::new(queue),
            _s3: s3,
            key,
            requests,
            drains,
            serving,
            draining,
        })
    }

    /// Starts the processes that this rate is likely to need. Each of them is as new as one that
    /// starts with a request, and needs no processor time while requests are sent: Lambda starts
    /// environments on machines of its own.
    ///
    /// # Errors
    /// When the program cannot be started, or ends.
    pub(crate) async fn prepare(&self, rate: u32) -> Result<()> {
        let count = u64::from(rate) * SECONDS_OF_A_REQUEST / AT_ONCE;
        let mut starting = JoinSet::new();
        for _ in 0..AT_ONCE {
            let pool = Arc::clone(&self.serving);
            starting.spawn(async move { pool.prepare(count).await });
        }
        while let Some(started) = starting.join_next().await {
            started.context("a process was not started")??;
        }
        Ok(())
    }

    /// How many processes have ended by themselves, which none should.
    pub(crate) fn ended_processes(&self) -> u64 {
        self.serving.counts().ended + self.draining.counts().ended
    }

    /// Ends all processes.
    pub(crate) async fn end(&self) {
        self.serving.end(Duration::ZERO).await;
        self.draining.end(Duration::ZERO).await;
    }
}

/// Starts a function whose processes serve one event at a time and are never replaced.
fn start_pool(events: &EventQueue, process: ProcessOptions) -> Arc<Pool> {
    Pool::start(PoolOptions {
        events: events.clone(),
        process: Box::new(move |_| process.clone()),
        at_once: usize::MAX,
        lifetime: u64::MAX..=u64::MAX,
        seed: 0,
        report,
    })
}

fn report(program: &Path, failure: &ProcessFailure) {
    eprintln!("outages: {} {failure}", program.display());
}
