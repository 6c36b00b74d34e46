//! One process of a function as Lambda runs it: it takes its events from a Runtime API and calls
//! DynamoDB at an endpoint.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hyper::body::Bytes;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::runtime_api::{EventQueue, Invocation, RuntimeApi};

/// Linux counts a process's time in ticks of this length.
const TICK: Duration = Duration::from_millis(10);

/// How long a process may take for a step, such as an invocation. Under callgrind it is some fifty
/// times slower.
const STEP_TIMEOUT: Duration = Duration::from_mins(5);

/// How a process is run.
#[derive(Clone, Debug)]
pub struct ProcessOptions {
    pub program: PathBuf,
    /// Tells its invocations from those of other processes with the same events.
    pub number: u64,
    /// The program that runs it, with arguments, such as callgrind. Empty for none.
    pub wrapper: Vec<OsString>,
    /// The URL of DynamoDB.
    pub dynamodb: String,
    /// Variables beside those that Lambda sets.
    pub variables: Vec<(String, OsString)>,
    /// Invocations that it may serve at once: `AWS_LAMBDA_MAX_CONCURRENCY`.
    pub concurrency: Option<u16>,
    /// The timeout of the function.
    pub invocation_timeout: Duration,
    /// Its events, which it may share with other processes.
    pub events: EventQueue,
    /// Gets every line of standard output and standard error. Without it, only standard error is
    /// shown.
    pub log: Option<mpsc::UnboundedSender<String>>,
}

impl ProcessOptions {
    /// A process of `program` that calls DynamoDB at `dynamodb`, alone, with Lambda's variables and
    /// no log.
    pub fn new(
        program: impl Into<PathBuf>,
        dynamodb: impl Into<String>,
        invocation_timeout: Duration,
    ) -> Self {
        Self {
            program: program.into(),
            number: 0,
            wrapper: Vec::new(),
            dynamodb: dynamodb.into(),
            variables: Vec::new(),
            concurrency: None,
            invocation_timeout,
            events: EventQueue::default(),
            log: None,
        }
    }
}

/// A process that runs until it is killed or dropped.
#[derive(Debug)]
pub struct FunctionProcess {
    child: Child,
    api: RuntimeApi,
    events: EventQueue,
}

impl FunctionProcess {
    /// Starts the process.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub async fn start(options: &ProcessOptions) -> Result<Self> {
        let events = options.events.clone();
        let api = RuntimeApi::start(events, options.number, options.invocation_timeout).await?;
        let mut command = command(options, &api.address().to_string());
        let mut child = command.spawn().with_context(|| {
            let program = command.as_std().get_program().display();
            format!("{program} cannot be started")
        })?;
        if let Some(log) = &options.log {
            // These tasks end with the process, after its last line.
            if let Some(stdout) = child.stdout.take() {
                tokio::spawn(send_lines(stdout, log.clone()));
            }
            if let Some(stderr) = child.stderr.take() {
                tokio::spawn(send_lines(stderr, log.clone()));
            }
        }
        Ok(Self {
            child,
            api,
            events: options.events.clone(),
        })
    }

    /// Waits until the process waits for an event.
    ///
    /// # Errors
    /// When the process ends instead.
    pub async fn idle(&mut self) -> Result<()> {
        let Self { child, api, .. } = self;
        tokio::select! {
            idle = timeout(STEP_TIMEOUT, api.idle()) => idle.context("the process does not ask for an event")?,
            ended = child.wait() => bail!("the process ended: {}", ended?),
        }
    }

    /// Waits for the response to this event.
    ///
    /// # Errors
    /// When there is no response in time.
    pub async fn invoke(&self, event: impl Into<Bytes>) -> Result<Invocation> {
        let invocation = timeout(STEP_TIMEOUT, self.events.invoke(event.into())).await;
        invocation
            .context("the process does not respond")?
            .context("the process ended")
    }

    /// How many invocations ended in an error, in this process and in others with the same events.
    pub fn invocation_errors(&self) -> u64 {
        self.events.errors()
    }

    /// Waits until the process has ended by itself.
    ///
    /// # Errors
    /// When the operating system does not tell.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }

    /// The most memory that the process had resident so far, in bytes.
    ///
    /// # Errors
    /// When `/proc` does not have it.
    pub fn peak_memory(&self) -> Result<u64> {
        let status = self.read_proc("status")?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .context("/proc has no peak memory")?;
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1024)
    }

    /// The processor time that the process has used so far, in user mode and in the kernel.
    ///
    /// # Errors
    /// When `/proc` does not have it.
    pub fn processor_time(&self) -> Result<Duration> {
        let stat = self.read_proc("stat")?;
        // The 3rd field is the first after the program's name in parentheses.
        let (_, fields) = stat.rsplit_once(')').context("/proc has no process name")?;
        // Fields 14 and 15 are the time in user mode and in the kernel.
        let user_and_kernel: Result<Vec<u32>, _> = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse)
            .collect();
        let ticks: u32 = user_and_kernel?.iter().sum();
        Ok(TICK.saturating_mul(ticks))
    }

    fn read_proc(&self, file: &str) -> Result<String> {
        let id = self.child.id().context("the process has ended")?;
        let content = std::fs::read_to_string(format!("/proc/{id}/{file}"))?;
        Ok(content)
    }

    /// Asks the process to end, as Lambda does, and kills it when it has not ended after `grace`.
    ///
    /// # Errors
    /// When it has ended before, or cannot be killed.
    pub async fn end(&mut self, grace: Duration) -> Result<()> {
        let id = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?))
            .context("the process has ended")?;
        kill_process(id, Signal::TERM)?;
        let Ok(ended) = timeout(grace, self.child.wait()).await else {
            return self.kill().await;
        };
        ended?;
        self.api.stop().await;
        Ok(())
    }

    /// Kills the process wherever it is. Callers whose events it has taken learn of it only when
    /// this is dropped.
    ///
    /// # Errors
    /// When the process cannot be killed.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await?;
        self.api.stop().await;
        Ok(())
    }
}

/// The command that starts the process, with the environment that Lambda gives it.
fn command(options: &ProcessOptions, runtime_api: &str) -> Command {
    let wrapper = options.wrapper.iter().map(OsString::as_os_str);
    let mut words = wrapper.chain([options.program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .env_clear()
        .envs(LAMBDA_VARIABLES)
        .env("AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2VjE".repeat(50))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for (name, value) in &options.variables {
        command.env(name, value);
    }
    command
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
        .env("AWS_ENDPOINT_URL_DYNAMODB", &options.dynamodb);
    if let Some(concurrency) = options.concurrency {
        command.env("AWS_LAMBDA_MAX_CONCURRENCY", concurrency.to_string());
    }
    if options.log.is_some() {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    } else {
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
    }
    command
}

async fn send_lines(output: impl AsyncRead + Unpin, log: mpsc::UnboundedSender<String>) {
    let mut lines = BufReader::new(output).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        // A test that ended has dropped its receiver.
        let _ = log.send(String::from_utf8_lossy(&line).into_owned());
    }
}

/// The memory of the functions in megabytes: the default of the parameter `FunctionMemory` in
/// template.yaml. A test compares them.
pub const FUNCTION_MEMORY: &str = "256";

/// What Lambda and template.yaml set, with the lengths that the values have there.
const LAMBDA_VARIABLES: [(&str, &str); 12] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("AWS_REGION", "eu-central-1"),
    ("AWS_DEFAULT_REGION", "eu-central-1"),
    ("AWS_ACCESS_KEY_ID", "ASIAIOSFODNN7EXAMPLE"),
    (
        "AWS_SECRET_ACCESS_KEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ("AWS_LAMBDA_FUNCTION_NAME", "tests"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", FUNCTION_MEMORY),
    ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
    ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/tests"),
    (
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "2026/11/20/[1]0123456789abcdef0123456789abcdef",
    ),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("SIGNAL_RETENTION_DAYS", "0"),
];
