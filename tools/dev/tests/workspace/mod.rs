//! A temporary repository in which a test runs `cargo dev`. [`stack`] is the process that runs in it.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

pub(crate) mod stack;

use std::fs;
use std::io::PipeReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use self::stack::{EndedStack, RunningStack};

/// Longer than any step takes, so that only a hang reaches it.
const DEADLINE: Duration = Duration::from_mins(2);

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// The program under test.
pub(crate) fn dev() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dev"))
}

/// What a process does on SIGHUP unless it says otherwise.
#[derive(Clone, Copy)]
pub(crate) enum HangupAction {
    /// It ends.
    Default,
    /// Nothing, as after `nohup`.
    Ignore,
}

impl HangupAction {
    fn python_name(self) -> &'static str {
        match self {
            Self::Default => "SIG_DFL",
            Self::Ignore => "SIG_IGN",
        }
    }
}

/// The folder is deleted when this is dropped.
pub(crate) struct TestWorkspace {
    folder: tempfile::TempDir,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Self { folder };
        workspace.append("Cargo.toml", "[workspace]\n");
        workspace.append("template.yaml", TEMPLATE);
        workspace
    }

    /// Adds text to the end of a file, and creates the file and its folder if there are none.
    pub(crate) fn append(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap_or_default() + text).unwrap();
    }

    /// Replaces a file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
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
        running.send_unix_signal("INT");
        running.end()
    }

    /// Starts `cargo dev` on free ports, unless the arguments name some.
    pub(crate) fn start(&self, arguments: &[&str]) -> RunningStack {
        self.start_in("", arguments)
    }

    /// Starts `cargo dev` like [`Self::start`], in this folder of the workspace.
    pub(crate) fn start_in(&self, folder: &str, arguments: &[&str]) -> RunningStack {
        let mut command = self.command(arguments);
        command.current_dir(self.path(folder));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        RunningStack::new(command.spawn().unwrap())
    }

    /// Starts `cargo dev` like [`Self::start`], with a standard output that no reader empties. Returns its
    /// other end, too.
    pub(crate) fn start_without_reader(&self, arguments: &[&str]) -> (RunningStack, PipeReader) {
        let (reader, stdout) = std::io::pipe().unwrap();
        let mut command = self.command(arguments);
        command.stdout(stdout).stderr(Stdio::piped());
        (RunningStack::new(command.spawn().unwrap()), reader)
    }

    /// Starts `cargo dev` like [`Self::start`], with this action of SIGHUP in place of the one that this process inherited.
    pub(crate) fn start_with_hangup(&self, action: HangupAction) -> RunningStack {
        // A shell cannot give a signal that it inherited as ignored its default action.
        const SCRIPT: &str = "import os, signal, sys
signal.signal(signal.SIGHUP, signal.Handlers[sys.argv[1]])
os.execv(sys.argv[2], sys.argv[2:])";
        let command = self.command(&[]);
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT, action.python_name()]);
        python.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => python.env(name, value),
                None => python.env_remove(name),
            };
        }
        python.current_dir(self.folder.path());
        python.stdout(Stdio::piped()).stderr(Stdio::piped());
        RunningStack::new(python.spawn().unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let ports = ["--port", "--dynamodb-port", "--inspector-port"]
            .into_iter()
            .filter(|port| !arguments.contains(port));
        let mut command = dev();
        command
            .args(arguments)
            .args(ports.flat_map(|port| [port, "0"]))
            .current_dir(self.folder.path())
            // The variables of a developer who uses `cargo intake` on a deployed stack. They must
            // not reach the functions.
            .env(
                "OVERFLOW_QUEUE_URL",
                "https://sqs.eu-central-1.amazonaws.com/123456789012/overflow",
            )
            .env("INTAKE_STACK", "intake-prod")
            // Scripts find the file of the variables in the workspace all the same.
            .env("CARGO_TARGET_DIR", self.path("elsewhere"));
        command
    }

    /// Waits until a file of the workspace exists.
    pub(crate) fn wait_for(&self, path: &str) {
        let path = self.path(path);
        wait_until(
            || Path::exists(&path),
            &format!("{} exists", path.display()),
        );
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
