//! One function as Lambda runs it: a process of its own that takes its events from a Runtime API and logs to its output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dev::cargo_command;
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

use crate::fault_proxy::{FaultProxy, Plan};
use crate::history::environment::{Blueprint, Environment, Job, Notes, variables};

/// Linux counts a process's time in ticks of this length.
const TICK: Duration = Duration::from_millis(10);

/// A process that runs until this is dropped or stopped.
pub struct FunctionProcess {
    environment: Environment,
    jobs: mpsc::Sender<Job>,
    log: mpsc::UnboundedReceiver<String>,
    notes: Arc<Notes>,
}

/// What a process did until it was stopped.
#[derive(Debug)]
pub struct Log {
    /// Everything that it wrote to standard output and to standard error, line by line.
    pub lines: Vec<String>,
    /// How many of its invocations ended in an error.
    pub invocation_errors: u64,
}

impl FunctionProcess {
    /// Starts the function of this name over the emulator at `endpoint`. It logs as much as it can.
    pub async fn start(function: &str, endpoint: &str) -> Self {
        let programs = build_functions().unwrap_or_else(|error| panic!("{error}"));
        Self::start_behind(&programs.join(function), endpoint, Plan::none()).await
    }

    /// Starts `program` over the emulator at `endpoint`, which fails as `plan` says.
    pub async fn start_behind(program: &Path, endpoint: &str, plan: impl Into<Plan>) -> Self {
        let (jobs, receiver) = mpsc::channel(1);
        let (sender, log) = mpsc::unbounded_channel();
        let notes = Arc::new(Notes::default());
        let blueprint = Blueprint {
            program: program.to_owned(),
            variables: variables(),
            jobs: Arc::new(AsyncMutex::new(receiver)),
            notes: notes.clone(),
            canaries: Arc::default(),
            log: Some(sender),
            at_once: 1,
        };
        let proxy = FaultProxy::start(endpoint, plan).await;
        Self { environment: Environment::start(blueprint, proxy).await, jobs, log, notes }
    }

    /// What API Gateway gets for this event: a response, or the error that the invocation ended in.
    pub async fn invoke(&self, event: &str) -> Value {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { event: event.to_owned(), answer }).await.unwrap_or_else(|_| panic!("the process ended"));
        serde_json::from_slice(&answered.await.expect("the process answers")).expect("a body of JSON")
    }

    /// The most memory that the process had resident so far, in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> u64 {
        let status = self.environment.proc("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells the peak");
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        kibibytes.saturating_mul(1024)
    }

    /// The processor time that the process has used so far, in user mode and in the kernel.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        let stat = self.environment.proc("stat");
        // The 14th and the 15th field; the 3rd follows the program's name in parentheses.
        let (_, fields) = stat.rsplit_once(')').expect("the program's name");
        let ticks = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u32>().unwrap());
        TICK.saturating_mul(ticks.sum())
    }

    /// Kills the process, and reads what it logged to the end.
    pub async fn stop(self) -> Log {
        let Self { environment, jobs, mut log, notes } = self;
        drop((environment, jobs));
        let mut lines = Vec::new();
        while let Some(line) = log.recv().await {
            lines.push(line);
        }
        Log { lines, invocation_errors: notes.invocation_errors.load(Ordering::Relaxed) }
    }
}

/// Builds both functions as `cargo test` has them: the folder in which they are.
///
/// # Errors
/// When they cannot be built, in the words to show.
pub fn build_functions() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = cargo_command(cargo)
        .args(["build", "--quiet", "--locked", "--bin", "customers", "--bin", "signals"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !built.success() {
        return Err("the functions cannot be built; cargo has said why".to_owned());
    }
    let own = std::env::current_exe().map_err(|error| format!("it is not known where the programs are: {error}"))?;
    let folder = own.parent().ok_or("it is not known where the programs are")?;
    // The program of a test is one folder deeper than others.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_owned())
}
