//! A target as a process over a fake DynamoDB. Must not know what is measured.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fault_proxy::{FaultProxy, Plan};
use hyper::body::Bytes;
use sandbox::certificate_authority::Authority;
use sandbox::fake_dynamodb::FakeDynamoDb;
use sandbox::function_process::{FunctionProcess, ProcessOptions};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::profile::Profile;
use crate::target::Target;

/// Under callgrind a function is some fifty times slower.
const INVOCATION_TIMEOUT: Duration = Duration::from_mins(10);

/// How a process is run. With TLS between it and DynamoDB, except behind a proxy.
pub(crate) enum Mode {
    Alone,
    /// Under callgrind, which counts instructions.
    Callgrind,
    /// Its log is kept.
    Logged,
    /// Its calls fail as the plan says.
    Faulty(Plan),
}

/// A function that runs until this is dropped.
pub(crate) struct Process {
    /// The DynamoDB it writes to.
    pub(crate) dynamodb: FakeDynamoDb,
    pub(crate) function: FunctionProcess,
    log: mpsc::UnboundedReceiver<String>,
    directory: TempDir,
    _proxy: Option<FaultProxy>,
}

impl Process {
    /// Starts `target`, and waits until it asks for its first event.
    pub(crate) async fn start(target: &Target, mode: Mode) -> Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory can be made")?;
        let authority = Authority::new()?;
        let [few, many] = ["few.pem", "many.pem"].map(|name| directory.path().join(name));
        authority.write(&few, &many)?;
        let (wrapper, is_logged) = (callgrind(&mode, directory.path()), matches!(mode, Mode::Logged));
        let (dynamodb, proxy, endpoint) = if let Mode::Faulty(plan) = mode {
            let dynamodb = FakeDynamoDb::start(None).await?;
            let proxy = FaultProxy::start(&format!("http://{}", dynamodb.address()), plan).await?;
            let endpoint = proxy.endpoint();
            (dynamodb, Some(proxy), endpoint)
        } else {
            let dynamodb = FakeDynamoDb::start(Some(authority.acceptor.clone())).await?;
            let endpoint = format!("https://localhost:{}", dynamodb.address().port());
            (dynamodb, None, endpoint)
        };
        // What replaces the embedded authorities, what replaces the system's, and what Node.js adds to its own.
        let bundle = if target.arguments.is_empty() { &few } else { &many };
        let bundles = [("AWS_CA_BUNDLE", bundle), ("SSL_CERT_FILE", &many), ("NODE_EXTRA_CA_CERTS", &few)];
        let variables = bundles.map(|(name, path)| (name, path.clone().into_os_string())).into_iter();
        let variables = variables.chain(target.variables.iter().map(|(name, value)| (*name, value.into())));
        let variables = variables.chain(TABLES.map(|(name, value)| (name, value.into())));
        let (sender, log) = mpsc::unbounded_channel();
        let options = ProcessOptions {
            arguments: target.arguments.iter().map(OsString::from).collect(),
            wrapper,
            variables: variables.map(|(name, value)| (name.to_owned(), value)).collect(),
            invocation_timeout: INVOCATION_TIMEOUT,
            log: is_logged.then_some(sender),
            ..ProcessOptions::new(&target.program, endpoint)
        };
        let mut function = FunctionProcess::start(&options)
            .await
            .context("the program does not start; if it is valgrind, on Debian: apt-get install valgrind")?;
        function.idle().await.with_context(|| format!("{} does not start", target.name))?;
        Ok(Self { dynamodb, function, log, directory, _proxy: proxy })
    }

    /// Sends one event, expects success, and waits until the function asks for the next event. Returns how long the response
    /// took.
    pub(crate) async fn invoke(&mut self, event: &Bytes) -> Result<Duration> {
        let invocation = self.function.invoke(event.clone()).await?;
        let response = invocation.json();
        // The second is that of a batch of a stream.
        if response["statusCode"] != 200 && response["batchItemFailures"] != json!([]) {
            bail!("the event was not handled: {response}");
        }
        self.function.idle().await?;
        Ok(invocation.duration)
    }

    /// Ends the process and returns the lines of its log.
    pub(crate) async fn log(self) -> Vec<String> {
        let Self { function, mut log, .. } = self;
        drop(function);
        let mut lines = Vec::new();
        while let Some(line) = log.recv().await {
            lines.push(line);
        }
        lines
    }

    /// Ends the process and reads what callgrind counted; `copy` gets a copy of its file.
    pub(crate) async fn profile(mut self, copy: Option<&Path>) -> Result<Profile> {
        // Callgrind writes its file when a signal ends the program.
        self.function.terminate().await?;
        let path = self.directory.path().join(PROFILE);
        let text = std::fs::read_to_string(&path).context("callgrind wrote nothing")?;
        if let Some(copy) = copy {
            std::fs::copy(&path, copy).with_context(|| format!("{} cannot be written", copy.display()))?;
        }
        Profile::parse(&text)
    }
}

/// Callgrind's file.
const PROFILE: &str = "callgrind.out";

fn callgrind(mode: &Mode, directory: &Path) -> Vec<OsString> {
    let options = ["valgrind", "--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"];
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(directory.join(PROFILE));
    let command = options.into_iter().map(OsString::from).chain([file]);
    if matches!(mode, Mode::Callgrind) { command.collect() } else { Vec::new() }
}

/// What template.yaml sets, with the lengths that names have in a region.
const TABLES: [(&str, &str); 6] = [
    ("AWS_LAMBDA_FUNCTION_NAME", "intake-prod-SignalsFunction-AbCdEfGhIjKl"),
    ("API_KEYS_TABLE", "intake-ApiKeysTable-1ABCDEFGHIJKL"),
    ("CUSTOMERS_TABLE", "intake-CustomersTable-1ABCDEFGHIJKL"),
    ("SIGNALS_TABLE", "intake-SignalsTable-1ABCDEFGHIJKL"),
    ("IDEMPOTENCY_TABLE", "intake-IdempotencyTable-1ABCDEFGHIJKL"),
    ("REJECTED_SIGNALS_TABLE", "intake-RejectedSignalsTable-1ABCDEFGHIJKL"),
];
