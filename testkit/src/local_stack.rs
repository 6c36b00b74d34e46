//! `cargo dev` as a developer starts it: a process, an address, nothing left when it ends. Must not know what it serves.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sandbox::cargo::cargo_command;
use serde_json::Value;
use tempfile::TempDir;

/// Far beyond a first build on a busy machine: only a hang reaches it.
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

/// A response of the stack.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The content type, without parameters.
    pub content_type: String,
    /// The body.
    pub json: Value,
}

impl LocalStack {
    /// Starts `cargo dev` with these options, and waits until it is ready.
    pub fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env_file = folder.path().join("dev.env");
        let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
        let mut process = cargo_command(cargo)
            .args(["dev", "--port", "0", "--dynamodb-port", "0", "--inspector-port", "0", "--env-file"])
            .arg(&env_file)
            .args(options)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = collect(process.stderr.take().unwrap());
        let began = Instant::now();
        while !env_file.exists() {
            assert!(began.elapsed() < START_TIMEOUT, "cargo dev did not start");
            let ended = process.try_wait().unwrap();
            assert!(ended.is_none(), "cargo dev ended: {}", stderr.recv_timeout(STOP_TIMEOUT).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(50));
        }
        let variables = std::fs::read_to_string(env_file).unwrap();
        let variables = variables.lines().filter_map(|line| line.split_once('='));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { process, stderr, variables, folder }
    }

    /// A variable of the env file.
    pub fn variable(&self, name: &str) -> &str {
        &self.variables[name]
    }

    /// Sends a request with this key, and its body as it is, labelled as JSON.
    pub fn send(&self, key: &str, method: &str, path: &str, body: Option<&str>) -> Reply {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.variable("BASE_URL")))
            .header("Authorization", format!("Bearer {key}"))
            .header("Content-Type", "application/json");
        let mut response = match body {
            Some(body) => agent.run(request.body(body).unwrap()),
            None => agent.run(request.body(()).unwrap()),
        }
        .unwrap();
        Reply {
            status: response.status().as_u16(),
            content_type: response.body().mime_type().unwrap_or_default().to_owned(),
            json: serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap(),
        }
    }

    /// Ends it with a signal, `INT` or `TERM`; asserts that it ends well and that nothing is left. Returns what it wrote to
    /// standard error.
    pub fn stop(mut self, signal: &str) -> String {
        self.signal(signal);
        // Whatever runs below it has inherited its standard error: this waits for the last of them.
        let stderr = self.stderr.recv_timeout(STOP_TIMEOUT).expect("every process ends");
        assert!(self.process.wait().unwrap().success(), "{stderr}");
        assert!(!self.folder.path().join("dev.env").exists());
        stderr
    }

    fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for LocalStack {
    fn drop(&mut self) {
        // A test that failed half-way leaves it to end by itself.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.signal("TERM");
            let _ = self.process.wait();
        }
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
