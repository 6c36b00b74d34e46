//! One function, running alone: as itself or under callgrind, between a Runtime API and a DynamoDB of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use hyper::body::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::callgrind::Profile;
use testkit::fake_dynamodb::DynamoDb;
use testkit::runtime_api::{Answer, RuntimeApi};
use crate::subject::Subject;
use testkit::certificate_authority::Authority;

/// Longer than anything here takes under callgrind.
const PATIENCE: Duration = Duration::from_mins(5);

/// How a function is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Under callgrind, which counts.
    pub counted: bool,
    /// With TLS between it and DynamoDB.
    pub tls: bool,
    /// Invocations that it may serve at once, where that is more than one: `AWS_LAMBDA_MAX_CONCURRENCY`.
    pub at_once: Option<u16>,
}

/// A function that runs until this is dropped or stopped.
#[derive(Debug)]
pub struct Running {
    /// The DynamoDB it writes to.
    pub dynamodb: DynamoDb,
    api: RuntimeApi,
    child: Child,
    directory: TempDir,
    invocations: u64,
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
        let api = RuntimeApi::start().await?;
        let scheme = if mode.tls { "https" } else { "http" };
        let endpoint = format!("{scheme}://localhost:{}", dynamodb.address().port());
        let mut command = if mode.counted { under_callgrind(directory.path()) } else { Command::new(&subject.program) };
        if mode.counted {
            command.arg(&subject.program);
        }
        let child = command
            .args(&subject.arguments)
            .env_clear()
            .envs(variables())
            .envs(subject.variables.iter().cloned())
            .envs(mode.at_once.map(|count| ("AWS_LAMBDA_MAX_CONCURRENCY", count.to_string())))
            .env("AWS_LAMBDA_RUNTIME_API", api.address().to_string())
            .env("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
            // What replaces the embedded authorities, and what replaces the system's.
            .env("AWS_CA_BUNDLE", if subject.arguments.is_empty() { &few } else { &many })
            .env("SSL_CERT_FILE", &many)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(directory.path().join("stderr"))?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| {
                if mode.counted { NO_VALGRIND.to_owned() } else { format!("{} cannot be started", subject.name) }
            })?;
        let mut running = Self { dynamodb, api, child, directory, invocations: 0 };
        running.idle().await.with_context(|| format!("{} did not start", subject.name))?;
        Ok(running)
    }

    /// Has one event answered with 200, and waits until the function asks for the next.
    ///
    /// # Errors
    /// When the answer is another one, or none.
    pub async fn invoke(&mut self, event: &Bytes) -> Result<Answer> {
        self.invocations = self.invocations.saturating_add(1);
        let answer = self.answer(self.invocations, event).await?;
        self.idle().await?;
        Ok(answer)
    }

    /// Has `count` events answered with 200, with `at_once` under way at any time; how long that takes.
    ///
    /// # Errors
    /// When an answer is another one, or none.
    pub async fn invoke_many(&mut self, event: &Bytes, count: u64, at_once: u16) -> Result<Duration> {
        let (first, began) = (self.invocations.saturating_add(1), Instant::now());
        self.invocations = self.invocations.saturating_add(count);
        let answers = stream::iter(first..=self.invocations).map(|number| self.answer(number, event));
        answers.buffer_unordered(at_once.into()).try_for_each(|_| future::ok(())).await?;
        Ok(began.elapsed())
    }

    async fn answer(&self, number: u64, event: &Bytes) -> Result<Answer> {
        let id = format!("{number:08}-0000-4000-8000-000000000000");
        let answer = timeout(PATIENCE, self.api.invoke(id, event.clone())).await;
        let answer = answer.map_err(|_| anyhow!("no answer within {PATIENCE:?}; {}", self.said()))??;
        let response: Value = serde_json::from_slice(&answer.body).context("the answer is not JSON")?;
        if response["statusCode"] != 200 {
            bail!("the answer is not 200: {}; {}", String::from_utf8_lossy(&answer.body), self.said());
        }
        Ok(answer)
    }

    /// The most memory that the process had resident so far, in bytes.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn peak_memory(&self) -> Result<u64> {
        let id = self.child.id().context("the function has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak is known")?;
        let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kibibytes.saturating_mul(1024))
    }

    /// Ends the function, and reads what callgrind counted; `keep` gets a copy of its file.
    ///
    /// # Errors
    /// When nothing was counted.
    pub async fn profile(mut self, keep: Option<&Path>) -> Result<Profile> {
        let id = self.child.id().context("the function has ended")?;
        // Callgrind writes its file when a signal ends the program.
        Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
        timeout(PATIENCE, self.child.wait()).await.context("callgrind does not end")??;
        let path = profile_path(self.directory.path());
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("callgrind wrote nothing; {}", self.said()))?;
        if let Some(keep) = keep {
            std::fs::copy(&path, keep).with_context(|| format!("{} cannot be written", keep.display()))?;
        }
        Profile::parse(&text)
    }

    async fn idle(&mut self) -> Result<()> {
        let asked = timeout(PATIENCE, self.api.asked(self.invocations.saturating_add(1)));
        tokio::select! {
            asked = asked => {
                asked.map_err(|_| anyhow!("no request for an event within {PATIENCE:?}; {}", self.said()))?
            }
            ended = self.child.wait() => bail!("the function ended: {}; {}", ended?, self.said()),
        }
    }

    fn said(&self) -> String {
        let said = std::fs::read_to_string(self.directory.path().join("stderr")).unwrap_or_default();
        format!("it said: {}", said.lines().rev().take(8).collect::<Vec<_>>().join(" / "))
    }
}

/// What there is to say when callgrind cannot be started.
const NO_VALGRIND: &str = "valgrind cannot be started; on Debian: apt-get install valgrind";

fn under_callgrind(directory: &Path) -> Command {
    let mut command = Command::new("valgrind");
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(profile_path(directory));
    command.args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"]).arg(file);
    command
}

fn profile_path(directory: &Path) -> PathBuf {
    directory.join("callgrind.out")
}

/// What Lambda and `template.yaml` set, with the lengths that they have there.
fn variables() -> Vec<(&'static str, String)> {
    let own = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("PYTHONHASHSEED", "0"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "ASIAIOSFODNN7EXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("AWS_LAMBDA_FUNCTION_NAME", "bench"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/bench"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/20/[1]0123456789abcdef0123456789abcdef"),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
        ("API_KEYS_TABLE", "intake-ApiKeysTable-1ABCDEFGHIJKL"),
        ("CUSTOMERS_TABLE", "intake-CustomersTable-1ABCDEFGHIJKL"),
        ("SIGNALS_TABLE", "intake-SignalsTable-1ABCDEFGHIJKL"),
        ("IDEMPOTENCY_TABLE", "intake-IdempotencyTable-1ABCDEFGHIJKL"),
        ("REJECTED_SIGNALS_TABLE", "intake-RejectedSignalsTable-1ABCDEFGHIJKL"),
        ("SIGNAL_RETENTION_DAYS", "0"),
        ("LOG_LEVEL", "info"),
    ];
    let session = ("AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2VjE".repeat(50));
    own.into_iter().map(|(name, value)| (name, value.to_owned())).chain([session]).collect()
}
