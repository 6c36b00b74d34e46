//! The command in a terminal: confirmations, progress, hidden input, escaped output.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

/// A terminal with a command in it.
struct Terminal {
    screen: File,
    process: Child,
    shown: Vec<u8>,
}

impl Terminal {
    fn run(operator: &Operator, arguments: &[&str]) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let user = || -> Stdio {
            File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes())).unwrap().into()
        };
        let mut command = operator.command(arguments);
        let process = command.env("TERM", "xterm").stdin(user()).stdout(user()).stderr(user()).spawn().unwrap();
        // Close this process's copies of the terminal; the command has its own.
        drop(command);
        Self { screen: screen.into(), process, shown: Vec::new() }
    }

    /// Reads on until this is on the screen.
    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            assert!(Instant::now() < deadline, "no {text:?} in {:?}", String::from_utf8_lossy(&self.shown));
            let mut piece = [0; 4096];
            let length = self.screen.read(&mut piece).unwrap();
            self.shown.extend(&piece[..length]);
        }
    }

    /// Waits until the command has turned off the terminal's echo.
    fn wait_for_echo_off(&self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while tcgetattr(&self.screen).unwrap().local_modes.contains(LocalModes::ECHO) {
            assert!(Instant::now() < deadline, "the echo is still on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn write(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// The exit code, and all that was on the screen.
    fn end(mut self) -> (Option<i32>, String) {
        let mut piece = [0; 4096];
        // When the last process has closed the terminal, reading it is an error.
        while let Ok(length @ 1..) = self.screen.read(&mut piece) {
            self.shown.extend(&piece[..length]);
        }
        (self.process.wait().unwrap().code(), String::from_utf8(self.shown).unwrap())
    }
}

#[tokio::test]
async fn destructive_command_without_confirmation_changes_nothing() {
    let stack = TestApp::start();
    let operator = Operator::of(&stack);
    let made = operator.run(&["keys", "create", "--account", "shop", "--name", "web", "--json"]).success().json();
    let id = made[0]["keyId"].as_str().unwrap();
    let answer = |answer: &str| {
        let mut terminal = Terminal::run(&operator, &["keys", "revoke", id]);
        terminal.wait_for("Revoke the key");
        terminal.wait_for("[y/N]");
        terminal.write(answer);
        terminal.end()
    };
    for no in ["\n", "n\n", "nay\n"] {
        let (code, shown) = answer(no);
        assert!(code == Some(1) && shown.contains("Nothing was changed."), "{shown}");
    }
    assert_eq!(operator.run(&["keys", "show", id, "--json"]).success().json()[0]["state"], "active");
    assert_eq!(answer("y\n").0, Some(0));
    assert_eq!(operator.run(&["keys", "show", id, "--json"]).success().json()[0]["state"], "revoked");
}

#[test]
fn pasted_key_is_not_shown() {
    let stack = TestApp::start();
    let operator = Operator::of(&stack);
    let mut terminal = Terminal::run(&operator, &["keys", "import", "--account", "shop", "--name", "old"]);
    terminal.wait_for("it is not shown");
    let key = "k".repeat(40);
    terminal.wait_for_echo_off();
    terminal.write(&format!("{key}\n"));
    let (code, shown) = terminal.end();
    assert!(code == Some(0) && !shown.contains(&key), "{shown}");
}

#[tokio::test]
async fn row_is_one_line_with_escaped_control_characters() {
    let stack = TestApp::start();
    let (operator, key) = (Operator::of(&stack), stack.key("shop").await);
    let signal = json!({"customerId": "c", "eventType": "\u{1b}[2J\u{7}evil\n", "data": {"long": "x".repeat(500)}});
    assert_eq!(stack.send(RequestBuilder::signals(json!({"signals": [signal]})).key(&key)).await.status, 200);
    let (code, shown) = Terminal::run(&operator, &["signals", "list", "--account", "shop", "c"]).end();
    assert_eq!(code, Some(0));
    assert!(shown.contains("\\u{1b}[2J\\u{7}evil\\n") && !shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.lines().count(), 2, "{shown:?}");
    // In a pipe, nothing is cut.
    let piped = operator.run(&["signals", "list", "--account", "shop", "c"]).success();
    assert!(piped.stdout.contains(&"x".repeat(500)));
}

#[test]
fn import_shows_progress_in_a_terminal_only() {
    let stack = TestApp::start();
    let operator = Operator::of(&stack);
    let text = "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n".repeat(5_000);
    operator.file("a", &text);
    operator.file("b", &text);
    let (code, shown) = Terminal::run(&operator, &["import", "--account", "shop", "a"]).end();
    assert_eq!(code, Some(0), "{shown}");
    for part in ["% of", "signals stored", "left", "Done in ", "5000 signals stored, 0 lines rejected."] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
    let piped = operator.run(&["import", "--account", "shop", "b"]).success();
    assert_eq!(piped.stdout, "5000 signals stored, 0 lines rejected.\n");
    assert_eq!(piped.stderr, "");
}
