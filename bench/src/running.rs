//! A target as a process of its own, alone or under callgrind, over a fake DynamoDB. Must not know what is measured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use hyper::body::Bytes;
use tempfile::TempDir;
use testkit::certificate_authority::Authority;
use testkit::fake_dynamodb::DynamoDb;
use testkit::function_process::{FunctionProcess, ProcessOptions};
use testkit::runtime_api::Invocation;

use crate::callgrind::Profile;
use crate::subject::Subject;

/// Under callgrind a function is some fifty times slower.
const INVOCATION_TIMEOUT: Duration = Duration::from_mins(10);

/// How a function is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Under callgrind, which counts.
    pub counted: bool,
    /// With TLS between it and DynamoDB.
    pub tls: bool,
    /// Invocations that it may serve at once, where that is more than one.
    pub at_once: Option<u16>,
}

/// A function that runs until this is dropped or stopped.
#[derive(Debug)]
pub struct Running {
    /// The DynamoDB it writes to.
    pub dynamodb: DynamoDb,
    function: FunctionProcess,
    directory: TempDir,
}

impl Running {
    /// Starts `subject`, and waits until it asks for its first event.
    ///
    /// # Errors
    /// When it does not come that far.
    pub async fn start(subject: &Subject, mode: Mode) -> Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory can be made")?;
        let authority = Authority::new()?;
        let [few, many] = ["few.pem", "many.pem"].map(|name| directory.path().join(name));
        authority.write(&few, &many)?;
        let dynamodb = DynamoDb::start(mode.tls.then(|| authority.acceptor.clone())).await?;
        let scheme = if mode.tls { "https" } else { "http" };
        let endpoint = format!("{scheme}://localhost:{}", dynamodb.address().port());
        // What replaces the embedded authorities, and what replaces the system's.
        let bundle = if subject.arguments.is_empty() { &few } else { &many };
        let authorities = [("AWS_CA_BUNDLE", bundle.into()), ("SSL_CERT_FILE", many.clone().into())];
        let variables = TABLES.map(|(name, value)| (name, OsString::from(value))).into_iter();
        let variables = variables.chain(subject.variables.iter().map(|(name, value)| (*name, value.into())));
        let options = ProcessOptions {
            arguments: subject.arguments.iter().map(OsString::from).collect(),
            wrapper: if mode.counted { callgrind(directory.path()) } else { Vec::new() },
            variables: variables.chain(authorities).map(|(name, value)| (name.to_owned(), value)).collect(),
            concurrency: mode.at_once,
            invocation_timeout: INVOCATION_TIMEOUT,
            ..ProcessOptions::new(&subject.program, endpoint)
        };
        let mut function = FunctionProcess::start(&options).await.with_context(|| {
            if mode.counted { NO_VALGRIND.to_owned() } else { format!("{} does not start", subject.name) }
        })?;
        function.idle().await.with_context(|| format!("{} does not start", subject.name))?;
        Ok(Self { dynamodb, function, directory })
    }

    /// Has one event answered with 200, and waits until the function asks for the next.
    ///
    /// # Errors
    /// When the answer is another one, or none.
    pub async fn invoke(&mut self, event: &Bytes) -> Result<Invocation> {
        let invocation = self.answer(event).await?;
        self.function.idle().await?;
        Ok(invocation)
    }

    /// Has `count` events answered with 200, with `at_once` under way at any time; how long that takes.
    ///
    /// # Errors
    /// When an answer is another one, or none.
    pub async fn invoke_many(&self, event: &Bytes, count: u32, at_once: u16) -> Result<Duration> {
        let began = Instant::now();
        let answers = stream::iter(0..count).map(|_| self.answer(event));
        answers.buffer_unordered(at_once.into()).try_for_each(|_| future::ok(())).await?;
        Ok(began.elapsed())
    }

    async fn answer(&self, event: &Bytes) -> Result<Invocation> {
        let invocation = self.function.invoke(event.clone()).await?;
        let response = invocation.json();
        if response["statusCode"] != 200 {
            bail!("the response is not 200: {response}");
        }
        Ok(invocation)
    }

    /// The most memory that the process had resident so far, in bytes.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn peak_memory(&self) -> Result<u64> {
        self.function.peak_memory()
    }

    /// Ends the function, and reads what callgrind counted; `keep` gets a copy of its file.
    ///
    /// # Errors
    /// When nothing was counted.
    pub async fn profile(mut self, keep: Option<&Path>) -> Result<Profile> {
        // Callgrind writes its file when a signal ends the program.
        self.function.terminate().await?;
        let path = profile_path(self.directory.path());
        let text = std::fs::read_to_string(&path).context("callgrind wrote nothing")?;
        if let Some(keep) = keep {
            std::fs::copy(&path, keep).with_context(|| format!("{} cannot be written", keep.display()))?;
        }
        Profile::parse(&text)
    }
}

/// The message when callgrind cannot be started.
const NO_VALGRIND: &str = "valgrind does not start; on Debian: apt-get install valgrind";

fn callgrind(directory: &Path) -> Vec<OsString> {
    let options = ["valgrind", "--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"];
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(profile_path(directory));
    options.into_iter().map(OsString::from).chain([file]).collect()
}

fn profile_path(directory: &Path) -> PathBuf {
    directory.join("callgrind.out")
}

/// What template.yaml sets, with the lengths that names have in a region, and what makes Python the same each time.
const TABLES: [(&str, &str); 6] = [
    ("API_KEYS_TABLE", "intake-ApiKeysTable-1ABCDEFGHIJKL"),
    ("CUSTOMERS_TABLE", "intake-CustomersTable-1ABCDEFGHIJKL"),
    ("SIGNALS_TABLE", "intake-SignalsTable-1ABCDEFGHIJKL"),
    ("IDEMPOTENCY_TABLE", "intake-IdempotencyTable-1ABCDEFGHIJKL"),
    ("REJECTED_SIGNALS_TABLE", "intake-RejectedSignalsTable-1ABCDEFGHIJKL"),
    ("PYTHONHASHSEED", "0"),
];
