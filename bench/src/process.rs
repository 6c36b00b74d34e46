//! A target as a process, alone or under callgrind, over a fake DynamoDB. Must not know what is measured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use hyper::body::Bytes;
use serde_json::json;
use tempfile::TempDir;
use testkit::certificate_authority::Authority;
use testkit::fake_dynamodb::FakeDynamoDb;
use testkit::fault_proxy::{FaultProxy, Plan};
use testkit::function_process::{FunctionProcess, ProcessOptions};
use testkit::runtime_api::Invocation;
use tokio::sync::mpsc;

use crate::callgrind::Profile;
use crate::target::Target;

/// Under callgrind a function is some fifty times slower.
const INVOCATION_TIMEOUT: Duration = Duration::from_mins(10);

/// How a function is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Under callgrind, which counts instructions.
    pub callgrind: bool,
    /// With TLS between it and DynamoDB.
    pub tls: bool,
    /// Invocations that it may serve at once, where that is more than one.
    pub concurrency: Option<u16>,
    /// Whether its log is kept.
    pub log: bool,
}

/// A function that runs until this is dropped.
#[derive(Debug)]
pub struct Process {
    /// The DynamoDB it writes to.
    pub dynamodb: FakeDynamoDb,
    /// Between the function and DynamoDB, when calls fail.
    _proxy: Option<FaultProxy>,
    function: FunctionProcess,
    log: mpsc::UnboundedReceiver<String>,
    directory: TempDir,
}

impl Process {
    /// Starts `target`, and waits until it asks for its first event.
    ///
    /// # Errors
    /// When it ends or hangs before.
    pub async fn start(target: &Target, mode: Mode) -> Result<Self> {
        Self::start_behind(target, mode, None).await
    }

    /// As [`Process::start`], with calls that fail as `plan` says. The proxy has no TLS.
    ///
    /// # Errors
    /// When it ends or hangs before.
    pub async fn start_behind(target: &Target, mode: Mode, plan: Option<Plan>) -> Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory can be made")?;
        let authority = Authority::new()?;
        let [few, many] = ["few.pem", "many.pem"].map(|name| directory.path().join(name));
        authority.write(&few, &many)?;
        let dynamodb = FakeDynamoDb::start(mode.tls.then(|| authority.acceptor.clone())).await?;
        let scheme = if mode.tls { "https" } else { "http" };
        let direct = format!("{scheme}://localhost:{}", dynamodb.address().port());
        let proxy = match plan {
            Some(plan) => Some(FaultProxy::start(&format!("http://{}", dynamodb.address()), plan).await?),
            None => None,
        };
        // What replaces the embedded authorities, and what replaces the system's.
        let bundle = if target.arguments.is_empty() { &few } else { &many };
        let authorities = [("AWS_CA_BUNDLE", bundle.into()), ("SSL_CERT_FILE", many.clone().into())];
        let variables = TABLES.map(|(name, value)| (name, OsString::from(value))).into_iter();
        let variables = variables.chain(target.variables.iter().map(|(name, value)| (*name, value.into())));
        let (sender, log) = mpsc::unbounded_channel();
        let options = ProcessOptions {
            arguments: target.arguments.iter().map(OsString::from).collect(),
            wrapper: if mode.callgrind { callgrind_command(directory.path()) } else { Vec::new() },
            variables: variables.chain(authorities).map(|(name, value)| (name.to_owned(), value)).collect(),
            concurrency: mode.concurrency,
            invocation_timeout: INVOCATION_TIMEOUT,
            log: mode.log.then_some(sender),
            ..ProcessOptions::new(&target.program, proxy.as_ref().map_or(direct, FaultProxy::endpoint))
        };
        let mut function = FunctionProcess::start(&options).await.with_context(|| {
            if mode.callgrind { NO_VALGRIND.to_owned() } else { format!("{} does not start", target.name) }
        })?;
        function.idle().await.with_context(|| format!("{} does not start", target.name))?;
        Ok(Self { dynamodb, _proxy: proxy, function, log, directory })
    }

    /// Sends one event, expects success, and waits until the function asks for the next event.
    ///
    /// # Errors
    /// When there is another response, or none.
    pub async fn invoke(&mut self, event: &Bytes) -> Result<Invocation> {
        let invocation = self.expect_ok(event).await?;
        self.function.idle().await?;
        Ok(invocation)
    }

    /// Sends `count` events, `concurrency` of them at once, and expects success; returns how long that takes.
    ///
    /// # Errors
    /// When there is another response, or none.
    pub async fn invoke_many(&self, event: &Bytes, count: u32, concurrency: u16) -> Result<Duration> {
        let began = Instant::now();
        let responses = stream::iter(0..count).map(|_| self.expect_ok(event));
        responses.buffer_unordered(concurrency.into()).try_for_each(|_| future::ok(())).await?;
        Ok(began.elapsed())
    }

    async fn expect_ok(&self, event: &Bytes) -> Result<Invocation> {
        let invocation = self.function.invoke(event.clone()).await?;
        let response = invocation.json();
        // The second is that of a batch of a stream.
        if response["statusCode"] != 200 && response["batchItemFailures"] != json!([]) {
            bail!("the event was not handled: {response}");
        }
        Ok(invocation)
    }

    /// The most memory that the process had resident so far, in bytes.
    ///
    /// # Errors
    /// When `/proc` does not have it.
    pub fn peak_memory(&self) -> Result<u64> {
        self.function.peak_memory()
    }

    /// Ends the process and returns the lines of its log.
    pub async fn log(self) -> Vec<String> {
        let Self { function, mut log, .. } = self;
        drop(function);
        let mut lines = Vec::new();
        while let Some(line) = log.recv().await {
            lines.push(line);
        }
        lines
    }

    /// Ends the process and reads what callgrind counted; `copy` gets a copy of its file.
    ///
    /// # Errors
    /// When callgrind wrote no counts.
    pub async fn profile(mut self, copy: Option<&Path>) -> Result<Profile> {
        // Callgrind writes its file when a signal ends the program.
        self.function.terminate().await?;
        let path = profile_path(self.directory.path());
        let text = std::fs::read_to_string(&path).context("callgrind wrote nothing")?;
        if let Some(copy) = copy {
            std::fs::copy(&path, copy).with_context(|| format!("{} cannot be written", copy.display()))?;
        }
        Profile::parse(&text)
    }
}

/// The message when callgrind cannot be started.
const NO_VALGRIND: &str = "valgrind does not start; on Debian: apt-get install valgrind";

fn callgrind_command(directory: &Path) -> Vec<OsString> {
    let options = ["valgrind", "--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"];
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(profile_path(directory));
    options.into_iter().map(OsString::from).chain([file]).collect()
}

fn profile_path(directory: &Path) -> PathBuf {
    directory.join("callgrind.out")
}

/// What template.yaml sets, with the lengths that names have in a region, and what makes Python the same each time.
const TABLES: [(&str, &str); 7] = [
    ("AWS_LAMBDA_FUNCTION_NAME", "intake-prod-SignalsFunction-AbCdEfGhIjKl"),
    ("API_KEYS_TABLE", "intake-ApiKeysTable-1ABCDEFGHIJKL"),
    ("CUSTOMERS_TABLE", "intake-CustomersTable-1ABCDEFGHIJKL"),
    ("SIGNALS_TABLE", "intake-SignalsTable-1ABCDEFGHIJKL"),
    ("IDEMPOTENCY_TABLE", "intake-IdempotencyTable-1ABCDEFGHIJKL"),
    ("REJECTED_SIGNALS_TABLE", "intake-RejectedSignalsTable-1ABCDEFGHIJKL"),
    ("PYTHONHASHSEED", "0"),
];
