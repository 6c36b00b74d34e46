//! A workspace for one run of `cargo dev`, with a script in place of cargo where a test needs one.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of tests fail like tests"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use emulator::development_key::API_KEY;

/// Longer than any step takes, so that only a hang reaches it.
const DEADLINE: Duration = Duration::from_mins(2);

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// The program under test.
pub(crate) fn dev() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dev"))
}

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    cargo: PathBuf,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cargo = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs the tests"));
        let sandbox = Self { folder, cargo };
        sandbox.append("Cargo.toml", "[workspace]\nresolver = '3'\n");
        sandbox.append("Cargo.lock", "version = 4\n");
        sandbox.append("template.yaml", TEMPLATE);
        sandbox
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap_or_default() + text).unwrap();
    }

    /// Replaces a file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join(path), text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    /// Puts a shell script first on the path.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.folder.path().join("bin").join(name);
        self.append(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Makes `cargo build .. intake` build `script`. Other commands of cargo work.
    pub(crate) fn cargo_that_builds_intake(&self, script: &str) {
        let intake = self.program("intake", script);
        let build = format!(
            "mkdir -p target/debug && cp {} target/debug/intake",
            intake.display()
        );
        self.cargo_after(&format!(
            "case \"$*\" in *' --bin intake') {build}; exit;; esac"
        ));
    }

    /// Puts a shell script before cargo, which gets the commands that the script does not end.
    pub(crate) fn cargo_after(&self, script: &str) {
        let cargo = self.cargo.display();
        self.program("cargo", &format!("{script}\nexec {cargo} \"$@\""));
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs `cargo dev` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> EndedStack {
        self.start(arguments).end()
    }

    /// Runs `cargo dev` until it is ready, and then stops it.
    pub(crate) fn run_until_ready(&self, arguments: &[&str]) -> EndedStack {
        let mut running = self.start(arguments);
        running.wait_for_line("Intake is running");
        running.signal("INT");
        running.end()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> RunningStack {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        RunningStack::new(child, stdout)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let bin = self.folder.path().join("bin");
        let path = std::env::var_os("PATH").expect("there is a PATH");
        let path =
            std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(&path)))
                .unwrap();
        let own_cargo = bin.join("cargo");
        let ports = ["--port", "--dynamodb-port", "--inspector-port"]
            .into_iter()
            .filter(|port| !arguments.contains(port));
        let mut command = dev();
        command
            .args(arguments)
            .args(ports.flat_map(|port| [port, "0"]))
            .current_dir(self.folder.path())
            .env(
                "CARGO",
                if own_cargo.exists() {
                    &own_cargo
                } else {
                    &self.cargo
                },
            )
            .env("PATH", path)
            // A developer's who uses `cargo intake` on a real stack.
            .env(
                "OVERFLOW_QUEUE_URL",
                "https://sqs.eu-central-1.amazonaws.com/123456789012/overflow",
            )
            .env("INTAKE_STACK", "intake-prod")
            .env_remove("CARGO_TARGET_DIR")
            .stderr(Stdio::piped());
        command
    }

    /// Waits until a file of the sandbox exists.
    pub(crate) fn wait_for(&self, path: &str) {
        let path = self.folder.path().join(path);
        wait_until(
            || Path::exists(&path),
            &format!("{} exists", path.display()),
        );
    }
}

pub(crate) struct RunningStack {
    child: Child,
    stdout: mpsc::Receiver<String>,
    stderr: mpsc::Receiver<String>,
    /// What was read of `stdout`.
    printed: String,
}

impl RunningStack {
    fn new(mut child: Child, stdout: mpsc::Receiver<String>) -> Self {
        let stderr = lines(child.stderr.take().unwrap());
        Self {
            child,
            stdout,
            stderr,
            printed: String::new(),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits until it prints a line with this text.
    pub(crate) fn wait_for_line(&mut self, text: &str) {
        while !self.printed.contains(text) {
            self.printed += &self
                .stdout
                .recv_timeout(DEADLINE)
                .expect("it prints the line");
        }
    }

    /// Sends a request to the API with the development key, and returns the response.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {API_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// The address of the API, which it prints once it is ready.
    pub(crate) fn address(&mut self) -> String {
        self.wait_for_line("Base URL   http://");
        let (_, after) = self.printed.split_once("Base URL   http://").unwrap();
        after.lines().next().unwrap().to_owned()
    }

    /// Waits until it and every child process that shares its standard error have ended.
    pub(crate) fn end(mut self) -> EndedStack {
        let stderr = rest(&self.stderr);
        let stdout = std::mem::take(&mut self.printed) + &rest(&self.stdout);
        let status = self.child.wait().unwrap();
        EndedStack {
            status,
            stdout,
            stderr,
        }
    }
}

impl Drop for RunningStack {
    fn drop(&mut self) {
        // Only a test that has failed leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct EndedStack {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl EndedStack {
    /// The last line of a run that failed.
    pub(crate) fn error(&self) -> String {
        assert_eq!(self.status.code(), Some(1), "{}", self.stderr);
        self.stderr.lines().last().unwrap_or_default().to_owned()
    }
}

/// The lines of a stream as they come, with their ends.
fn lines(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        // A terminal that its program has closed is an error.
        while stream.read_line(&mut line).unwrap_or(0) > 0 {
            let _ = sender.send(std::mem::take(&mut line));
        }
    });
    lines
}

/// All lines up to the end of the stream.
fn rest(lines: &mpsc::Receiver<String>) -> String {
    let deadline = Instant::now() + DEADLINE;
    let mut text = String::new();
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => text += &line,
            Err(RecvTimeoutError::Disconnected) => return text,
            Err(RecvTimeoutError::Timeout) => panic!("a process has not ended: {text}"),
        }
    }
}

fn wait_until(reached: impl Fn() -> bool, condition: &str) {
    let start = Instant::now();
    while !reached() {
        assert!(
            start.elapsed() < DEADLINE,
            "timeout: not true that {condition}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
