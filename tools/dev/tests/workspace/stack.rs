//! `cargo dev` as a process that a test has started, and what it has printed when it has ended.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of tests fail like tests"
)]

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Instant;

use emulator::development_key::API_KEY;

use super::DEADLINE;

pub(crate) struct RunningStack {
    child: Child,
    stdout: mpsc::Receiver<String>,
    stderr: mpsc::Receiver<String>,
    /// What was read of `stdout`.
    printed: String,
}

impl RunningStack {
    /// Reads the output of a process whose standard error is a pipe, as its standard output may be.
    pub(super) fn new(mut child: Child) -> Self {
        let stdout = match child.stdout.take() {
            Some(stdout) => lines(stdout),
            None => lines(std::io::empty()),
        };
        let stderr = lines(child.stderr.take().unwrap());
        Self {
            child,
            stdout,
            stderr,
            printed: String::new(),
        }
    }

    /// Sends it the Unix signal with this name, such as `INT`.
    pub(crate) fn send_unix_signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(killed.success());
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
