//! A program as a process over a fake DynamoDB.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hyper::body::Bytes;
use processes::function_process::{FunctionProcess, ProcessOptions};
use processes::process_clock::ProcessClock;
use processes::stub_dynamodb::StubDynamoDb;
use tempfile::TempDir;

use crate::certificate_authority::Authority;
use crate::program::{Program, function};
use crate::workload::Workload;

/// How much slower a function is under callgrind, about, and so how much slower its clock is: its
/// timeouts would otherwise end too early, and it would make calls a second time.
const CALLGRIND_SLOWDOWN: u32 = 50;

/// Enough for a request under callgrind.
const INVOCATION_TIMEOUT: Duration = Duration::from_mins(10);

/// How long each call to DynamoDB takes where time is measured.
const DELAY: Duration = Duration::from_millis(5);

/// A program that runs until this is dropped.
pub(crate) struct MeasuredProcess {
    /// The DynamoDB it writes to, over TLS.
    pub(crate) dynamodb: StubDynamoDb,
    pub(crate) function: FunctionProcess,
    /// From exec until it asked for its first event.
    pub(crate) start: Duration,
    _directory: TempDir,
}

impl MeasuredProcess {
    /// Starts `program`, and waits until it asks for its first event. Each call to DynamoDB takes
    /// [`DELAY`].
    pub(crate) async fn start(program: &Program) -> Result<Self> {
        Self::start_with(program, program.wrapper.clone(), DELAY).await
    }

    /// Starts the function of `workload` under callgrind, which writes `file` when the process
    /// ends.
    pub(crate) async fn start_counted(workload: Workload, file: &Path) -> Result<Self> {
        let mut out_file = OsString::from("--callgrind-out-file=");
        out_file.push(file);
        let options = [
            "valgrind",
            "--tool=callgrind",
            "--quiet",
            "--compress-strings=no",
            "--compress-pos=no",
        ];
        let mut callgrind: Vec<OsString> = options.map(OsString::from).into();
        callgrind.push(out_file);
        let mut program = function(workload.function())?;
        let clock = ProcessClock::compile()?;
        program.variables.extend(clock.slower(CALLGRIND_SLOWDOWN));
        Self::start_with(&program, callgrind, Duration::ZERO).await
    }

    async fn start_with(
        program: &Program,
        wrapper: Vec<OsString>,
        delay: Duration,
    ) -> Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory can be made")?;
        let authority = Authority::new()?;
        let bundle = directory.path().join("authorities.pem");
        std::fs::write(&bundle, authority.bundle).context("the authorities cannot be written")?;
        let dynamodb = StubDynamoDb::start(authority.acceptor, delay).await?;
        let mut variables: Vec<_> = VARIABLES
            .map(|(name, value)| (name.to_owned(), OsString::from(value)))
            .into();
        for (name, value) in &program.variables {
            variables.push((name.clone(), value.clone()));
        }
        // The bundle replaces the embedded authorities. Node.js has another name for the variable.
        for name in ["AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"] {
            variables.push((name.to_owned(), bundle.clone().into()));
        }
        let endpoint = format!("https://localhost:{}", dynamodb.address().port());
        let options = ProcessOptions {
            wrapper,
            variables,
            ..ProcessOptions::new(&program.path, endpoint, INVOCATION_TIMEOUT)
        };
        let began = Instant::now();
        let mut function = FunctionProcess::start(&options).await.context(
            "the program does not start; if it is valgrind, on Debian: apt-get install valgrind",
        )?;
        let idle = function.idle().await;
        idle.with_context(|| format!("{} does not start", program.name))?;
        Ok(Self {
            dynamodb,
            function,
            start: began.elapsed(),
            _directory: directory,
        })
    }

    /// Sends one event, expects success, and waits until the function asks for the next event.
    /// Returns how long the response took.
    pub(crate) async fn invoke(&mut self, event: &Bytes) -> Result<Duration> {
        let invocation = self.function.invoke(event.clone()).await?;
        let response = invocation.json();
        ensure!(
            response["statusCode"] == 200,
            "the event was not handled: {response}"
        );
        self.function.idle().await?;
        Ok(invocation.duration)
    }
}

/// What template.yaml sets, with the lengths that names have in a region. DynamoDB responds to each call in time,
/// so that nothing is queued, and the key snapshot is not read.
const VARIABLES: [(&str, &str); 9] = [
    (
        "AWS_LAMBDA_FUNCTION_NAME",
        "intake-prod-SignalsFunction-AbCdEfGhIjKl",
    ),
    ("API_KEYS_TABLE", "intake-ApiKeysTable-1ABCDEFGHIJKL"),
    ("CUSTOMERS_TABLE", "intake-CustomersTable-1ABCDEFGHIJKL"),
    ("SIGNALS_TABLE", "intake-SignalsTable-1ABCDEFGHIJKL"),
    ("IDEMPOTENCY_TABLE", "intake-IdempotencyTable-1ABCDEFGHIJKL"),
    (
        "REJECTED_SIGNALS_TABLE",
        "intake-RejectedSignalsTable-1ABCDEFGHIJKL",
    ),
    (
        "OVERFLOW_QUEUE_URL",
        "https://localhost:9/123456789012/intake-OverflowQueue-AbCdEfGhIjKl",
    ),
    (
        "KEY_SNAPSHOT_BUCKET",
        "intake-keysnapshotbucket-abcdefghijkl",
    ),
    ("AWS_ENDPOINT_URL_S3", "https://localhost:9"),
];
