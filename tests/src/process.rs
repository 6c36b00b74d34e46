//! One function as Lambda runs it: a process of its own that takes its events from a Runtime API and logs to its output.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

use crate::faults::{FaultProxy, Plan};
use crate::history::environment::{Blueprint, Environment, Job, Notes, variables};

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
        let (jobs, receiver) = mpsc::channel(1);
        let (sender, log) = mpsc::unbounded_channel();
        let notes = Arc::new(Notes::default());
        let blueprint = Blueprint {
            program: programs.join(function),
            variables: variables(),
            jobs: Arc::new(AsyncMutex::new(receiver)),
            notes: notes.clone(),
            canaries: Arc::default(),
            log: Some(sender),
            at_once: 1,
        };
        let proxy = FaultProxy::start(endpoint, Plan::none()).await;
        Self { environment: Environment::start(blueprint, proxy).await, jobs, log, notes }
    }

    /// What API Gateway gets for this event: a response, or the error that the invocation ended in.
    pub async fn invoke(&self, event: &str) -> Value {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { event: event.to_owned(), answer }).await.unwrap_or_else(|_| panic!("the process ended"));
        serde_json::from_slice(&answered.await.expect("the process answers")).expect("a body of JSON")
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
    let built = Command::new(cargo)
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
