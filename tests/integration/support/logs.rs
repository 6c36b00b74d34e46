//! What functions in this process, and functions in processes of their own, write to the log.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::Value;
use service::telemetry;
use service::telemetry::log::Log;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// A log that writes to these lines.
    pub(crate) fn log(&self) -> Log {
        let lines = self.clone();
        Log::new("local", move |line| {
            let mut written = lines.0.lock().unwrap();
            written.extend_from_slice(line.as_bytes());
            written.push(b'\n');
        })
    }
}

/// While a process has one subscriber, tracing asks only that of the current thread whether a new
/// call site is enabled, and caches the result for all threads. With a second one it asks all, so
/// that requests of other tests disable no call site.
static SECOND_SUBSCRIBER: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// What these requests return, and the lines and events that they and the tasks that they start write
/// to the log, as text. A test has a thread of its own.
pub(crate) async fn log_of<T>(requests: impl AsyncFnOnce(Log) -> T) -> (T, String) {
    LazyLock::force(&SECOND_SUBSCRIBER);
    let lines = Lines::default();
    let written = lines.clone();
    let functions = ["customers", "overflow", "signals"];
    let subscriber = telemetry::subscriber(&functions, move || written.clone());
    let until_the_end = tracing::subscriber::set_default(subscriber);
    let returned = requests(lines.log()).await;
    drop(until_the_end);
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (returned, log)
}

/// The request lines of a log.
pub(crate) fn request_lines(log: &str) -> Vec<Value> {
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["status"].is_u64()).collect()
}

/// The request lines that a process has written until it ended.
pub(crate) async fn request_lines_of_process(mut lines: UnboundedReceiver<String>) -> Vec<Value> {
    let mut request_lines = Vec::new();
    while let Some(line) = lines.recv().await {
        // A process may end with a line of text that says why.
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let has_status = line.get("status").is_some_and(Value::is_u64);
        if has_status {
            request_lines.push(line);
        }
    }
    request_lines
}
