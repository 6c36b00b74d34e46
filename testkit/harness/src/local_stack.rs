//! `cargo dev` as a developer starts it: a process, an address, nothing left when it ends.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::programs::build_dev;
use crate::request_builder::TestResponse;

/// How long the stack may take to start, and to respond to a request. Both may wait for a first build,
/// which takes much less even on a busy machine: only a stack that hangs takes longer.
const START_TIMEOUT: Duration = Duration::from_mins(15);

/// How long the stack may take to end everything it started.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// A running `cargo dev`, on ports of its own.
pub struct LocalStack {
    process: Child,
    /// Gets what was written to standard error once nothing that could write to it runs any more.
    stderr: mpsc::Receiver<String>,
    variables: HashMap<String, String>,
    folder: TempDir,
}

impl LocalStack {
    /// Starts `cargo dev` with these options, and waits until it is ready.
    pub fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env_file = folder.path().join("dev.env");
        let mut process = Command::new(build_dev().unwrap())
            .current_dir(root())
            .arg("--env-file")
            .arg(&env_file)
            .args(["--port", "0"])
            .args(["--dynamodb-port", "0"])
            .args(["--inspector-port", "0"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = collect(process.stderr.take().unwrap());
        let began = Instant::now();
        while !env_file.exists() {
            assert!(began.elapsed() < START_TIMEOUT, "cargo dev did not start");
            let ended = process.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "cargo dev ended: {}",
                stderr.recv_timeout(STOP_TIMEOUT).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let env_text = std::fs::read_to_string(env_file).unwrap();
        let variables = env_text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self {
            process,
            stderr,
            variables,
            folder,
        }
    }

    /// The env file.
    pub fn env_file(&self) -> PathBuf {
        self.folder.path().join("dev.env")
    }

    /// A variable of the env file.
    pub fn variable(&self, name: &str) -> &str {
        &self.variables[name]
    }

    /// Sends a request to the API with the key of the env file and as JSON, or with these headers
    /// instead.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestResponse {
        let authorization = format!("Bearer {}", self.variable("API_KEY"));
        let default_headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
        ];
        let is_replaced = |name: &str| headers.iter().any(|(other, _)| *other == name);
        let headers: Vec<_> = default_headers
            .into_iter()
            .filter(|(name, _)| !is_replaced(name))
            .chain(headers.iter().copied())
            .collect();
        let url = format!("{}{path}", self.variable("BASE_URL"));
        call(method, &url, &headers, body)
    }

    /// Ends it with a signal, `INT` or `TERM`; asserts that it ends well and that nothing is left.
    /// Returns what it wrote to standard error.
    pub fn stop(mut self, signal: &str) -> String {
        self.signal(signal);
        // Whatever runs below it has inherited its standard error: this waits for the last of them.
        let stderr = self
            .stderr
            .recv_timeout(STOP_TIMEOUT)
            .expect("every process ends");
        let ended = self.process.wait().unwrap();
        assert!(ended.success(), "{stderr}");
        assert!(!self.folder.path().join("dev.env").exists());
        stderr
    }

    fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.process.id());
        let killed = Command::new("sh").args(["-c", &kill]).status();
        assert!(killed.unwrap().success());
    }
}

impl Drop for LocalStack {
    fn drop(&mut self) {
        // After a test that failed half-way, the process still runs.
        let has_ended = self.process.try_wait();
        if matches!(has_ended, Ok(None)) {
            self.signal("TERM");
            let _ = self.process.wait();
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Sends a request over HTTP. A header without a value is left out.
pub fn call(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> TestResponse {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(START_TIMEOUT))
        .build()
        .new_agent();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let answered = match body {
        b"" => agent.run(request.body(()).unwrap()),
        body => agent.run(request.body(body).unwrap()),
    };
    let mut response = answered.unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    TestResponse {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text,
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver
}
