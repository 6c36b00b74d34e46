//! One execution environment of a function: its process, Lambda's Runtime API for it, and its own way to DynamoDB.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::Tables;
use crate::fault_proxy::{FaultProxy, Message, Stream};

/// What a function is given for one event.
const DEADLINE: Duration = Duration::from_secs(10);

/// An event for whichever environment takes it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) event: String,
    /// Gets the function's answer; dropped when the environment ended first.
    pub(crate) answer: oneshot::Sender<Vec<u8>>,
}

/// What all environments have to say of themselves.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Invocations that ended in an error: there shall be none.
    pub(crate) invocation_errors: AtomicU64,
    /// Lines that the functions logged.
    pub(crate) log_lines: AtomicU64,
    /// Lines among them that hold what nobody may log.
    pub(crate) leaks: Mutex<Vec<String>>,
}

/// What an environment is made of.
#[derive(Clone)]
pub(crate) struct Blueprint {
    pub(crate) program: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) jobs: Arc<AsyncMutex<mpsc::Receiver<Job>>>,
    pub(crate) notes: Arc<Notes>,
    /// Texts that may stand in no line of the log.
    pub(crate) canaries: Arc<Vec<String>>,
    /// Gets each line of the log, where somebody wants them.
    pub(crate) log: Option<mpsc::UnboundedSender<String>>,
    /// How many invocations it is given at once.
    pub(crate) at_once: u16,
}

pub(crate) struct Environment {
    blueprint: Blueprint,
    pub(crate) proxy: FaultProxy,
    process: Child,
    api: JoinSet<()>,
    waiting: Arc<Waiting>,
}

/// The invocations that the process has not answered yet, by their ids.
type Waiting = Mutex<HashMap<String, oneshot::Sender<Vec<u8>>>>;

impl Environment {
    pub(crate) async fn start(blueprint: Blueprint, proxy: FaultProxy) -> Self {
        let (process, api, waiting) = Self::launch(&blueprint, &proxy).await;
        Self { blueprint, proxy, process, api, waiting }
    }

    async fn launch(blueprint: &Blueprint, proxy: &FaultProxy) -> (Child, JoinSet<()>, Arc<Waiting>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut process = Command::new(&blueprint.program)
            .env_clear()
            .envs(blueprint.variables.iter().cloned())
            .env("AWS_LAMBDA_MAX_CONCURRENCY", blueprint.at_once.to_string())
            .env("AWS_LAMBDA_RUNTIME_API", listener.local_addr().unwrap().to_string())
            .env("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", blueprint.program.display()));
        let waiting = Arc::<Waiting>::default();
        let mut api = JoinSet::new();
        api.spawn(accept(listener, blueprint.clone(), waiting.clone()));
        // These end with the process, and what it logged last is read all the same.
        tokio::spawn(listen(process.stdout.take().unwrap(), blueprint.clone()));
        tokio::spawn(listen(process.stderr.take().unwrap(), blueprint.clone()));
        (process, api, waiting)
    }

    /// Kills the process where it stands, and starts another. Callers hear of it only when nothing is left on its way to
    /// DynamoDB: the network of a dead process carries nothing either.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
        self.api.shutdown().await;
        self.proxy.idle().await;
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
        (self.process, self.api, self.waiting) = Self::launch(&self.blueprint, &self.proxy).await;
    }

    /// What Linux says of the process in a file of `/proc`.
    pub(crate) fn proc(&self, file: &str) -> String {
        let id = self.process.id().expect("the process runs");
        std::fs::read_to_string(format!("/proc/{id}/{file}")).expect("Linux tells of a process in /proc")
    }

    /// Whether the process ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }
}

async fn accept(listener: TcpListener, blueprint: Blueprint, waiting: Arc<Waiting>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, blueprint.clone(), waiting.clone()));
    }
}

async fn serve(stream: TcpStream, blueprint: Blueprint, waiting: Arc<Waiting>) {
    let mut stream = Stream::new(stream);
    while let Ok(Some(request)) = stream.next().await {
        let answer = if request.first_line.starts_with("GET") {
            let Some(job) = blueprint.jobs.lock().await.recv().await else { return };
            let id = uuid::Uuid::new_v4().to_string();
            waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), job.answer);
            invocation(&id, job.event)
        } else {
            let steps: Vec<&str> = request.first_line.split(['/', ' ']).collect();
            if steps.contains(&"error") {
                blueprint.notes.invocation_errors.fetch_add(1, Ordering::Relaxed);
            }
            let answered =
                steps.iter().find_map(|step| waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(*step));
            if let Some(answered) = answered {
                // A client that gave up waits no more.
                let _ = answered.send(request.body);
            }
            Message::answer("202 Accepted", &[], "")
        };
        if stream.send(&answer).await.is_err() {
            return;
        }
    }
}

fn invocation(id: &str, event: String) -> Message {
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(DEADLINE);
    let headers = [
        ("content-type", "application/json"),
        ("lambda-runtime-aws-request-id", id),
        ("lambda-runtime-deadline-ms", &deadline.as_millis().to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-central-1:123456789012:function:history"),
    ];
    Message::answer("200 OK", &headers, event)
}

async fn listen(log: impl AsyncRead + Unpin, blueprint: Blueprint) {
    let mut lines = BufReader::new(log).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        blueprint.notes.log_lines.fetch_add(1, Ordering::Relaxed);
        if let Some(log) = &blueprint.log {
            // Whoever wanted it may have gone.
            let _ = log.send(line.clone());
        }
        if blueprint.canaries.iter().any(|canary| line.contains(canary)) {
            blueprint.notes.leaks.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }
}

/// What Lambda and template.yaml set. What is logged at most shall hold nothing that it must not.
pub(crate) fn variables() -> Vec<(String, String)> {
    let own = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_LAMBDA_FUNCTION_NAME", "history"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "history"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "history"),
        ("API_KEYS_TABLE", Tables::name("ApiKeysTable")),
        ("CUSTOMERS_TABLE", Tables::name("CustomersTable")),
        ("SIGNALS_TABLE", Tables::name("SignalsTable")),
        ("IDEMPOTENCY_TABLE", Tables::name("IdempotencyTable")),
        ("REJECTED_SIGNALS_TABLE", Tables::name("RejectedSignalsTable")),
        ("SIGNAL_RETENTION_DAYS", "0"),
        ("LOG_LEVEL", "trace"),
    ];
    own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
