//! A command that runs until it is interrupted: what it writes, line by line.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};

use serde_json::Value;

use super::TIMEOUT;
use super::operator::{Operator, send_signal};

pub(crate) struct RunningCommand {
    process: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

/// How a command ended, and the lines that it wrote and the test had not read before.
#[derive(Debug)]
pub(crate) struct EndedCommand {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
}

impl RunningCommand {
    pub(crate) fn start(operator: &Operator, arguments: &[&str]) -> Self {
        let mut command = operator.command(arguments);
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = lines(process.stdout.take().unwrap());
        let stderr = lines(process.stderr.take().unwrap());
        Self {
            process,
            stdout,
            stderr,
        }
    }

    /// The next line of standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.stdout.recv_timeout(TIMEOUT).expect("a line in time")
    }

    /// The next line of standard output, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The next line of standard error.
    #[track_caller]
    pub(crate) fn note(&self) -> String {
        self.stderr.recv_timeout(TIMEOUT).expect("a line in time")
    }

    /// Presses Ctrl-C and waits until the command has ended.
    pub(crate) fn interrupt(self) -> EndedCommand {
        self.end("INT")
    }

    /// Sends this signal and waits until the command has ended.
    pub(crate) fn end(self, signal: &str) -> EndedCommand {
        send_signal(&self.process, signal);
        self.wait()
    }

    /// Waits until the command has ended.
    pub(crate) fn wait(mut self) -> EndedCommand {
        let code = self.process.wait().unwrap().code();
        EndedCommand {
            code,
            stdout: self.stdout.iter().collect(),
            stderr: self.stderr.iter().collect(),
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // A test that fails leaves no process.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else {
                break;
            };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
