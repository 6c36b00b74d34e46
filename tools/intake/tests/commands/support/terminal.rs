//! A command in a terminal: what is on the screen, and what the operator types.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::TIMEOUT;
use super::operator::{Operator, send_signal};

/// A terminal with a command in it.
pub(crate) struct Terminal {
    screen: File,
    process: Child,
    output: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

/// How a command ended, and all that was on the screen.
#[derive(Debug)]
pub(crate) struct EndedOnTerminal {
    pub(crate) code: Option<i32>,
    pub(crate) screen: String,
    /// Whether the terminal shows what is typed next.
    pub(crate) has_echo: bool,
}

impl EndedOnTerminal {
    #[track_caller]
    pub(crate) fn assert_nothing_was_changed(&self) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(self.screen.contains("Nothing was changed."), "{self:?}");
    }
}

impl Terminal {
    pub(crate) fn run(operator: &Operator, arguments: &[&str]) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let user = || -> Stdio {
            File::options()
                .read(true)
                .write(true)
                .open(OsStr::from_bytes(name.to_bytes()))
                .unwrap()
                .into()
        };
        let mut command = operator.command(arguments);
        let process = command
            .env("TERM", "xterm")
            .stdin(user())
            .stdout(user())
            .stderr(user())
            .spawn()
            .unwrap();
        // Close this process's copies of the terminal; the command has its own.
        drop(command);
        let screen = File::from(screen);
        let output = read_in_background(screen.try_clone().unwrap());
        Self {
            screen,
            process,
            output,
            shown: Vec::new(),
        }
    }

    /// Waits until this is on the screen.
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            let Ok(output) = self.output.recv_timeout(TIMEOUT) else {
                panic!("no {text:?} in {:?}", self.screen_text());
            };
            self.shown.extend(output);
        }
    }

    /// Waits until the command has turned off the terminal's echo.
    pub(crate) fn wait_for_echo_off(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while self.has_echo() {
            assert!(Instant::now() < deadline, "the echo is still on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn has_echo(&self) -> bool {
        let terminal = tcgetattr(&self.screen).unwrap();
        terminal.local_modes.contains(LocalModes::ECHO)
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the command has ended.
    pub(crate) fn end(mut self) -> EndedOnTerminal {
        loop {
            match self.output.recv_timeout(TIMEOUT) {
                Ok(output) => self.shown.extend(output),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the command does not end: {:?}", self.screen_text())
                }
            }
        }
        EndedOnTerminal {
            code: self.process.wait().unwrap().code(),
            screen: self.screen_text(),
            has_echo: self.has_echo(),
        }
    }

    /// Sends the signal of Ctrl-C, and waits until the command has ended.
    pub(crate) fn interrupt(self) -> EndedOnTerminal {
        send_signal(&self.process, "INT");
        self.end()
    }

    /// Kills the command.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.end();
    }

    fn screen_text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }
}

/// Reads the screen in a thread, because reading it cannot time out.
fn read_in_background(mut screen: File) -> Receiver<Vec<u8>> {
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // When the last process has closed the terminal, reading it is an error.
        while let Ok(length @ 1..) = screen.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    output
}
