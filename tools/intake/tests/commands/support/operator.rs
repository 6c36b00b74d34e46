//! Runs the command with an empty home folder and with only the variables that a test sets.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use emulator::sqs::{DEAD_LETTER_QUEUE, FakeSqs, OVERFLOW_QUEUE};
use harness::fake_s3::FakeS3;
use harness::{KEY_SNAPSHOT_BUCKET, TestApp, table_name};
use serde_json::Value;
use tempfile::TempDir;

/// The tables of template.yaml, by the variables that name them.
pub(crate) const VARIABLES: [(&str, &str); 5] = [
    ("API_KEYS_TABLE", "ApiKeysTable"),
    ("CUSTOMERS_TABLE", "CustomersTable"),
    ("SIGNALS_TABLE", "SignalsTable"),
    ("REJECTED_SIGNALS_TABLE", "RejectedSignalsTable"),
    ("IDEMPOTENCY_TABLE", "IdempotencyTable"),
];

/// An operator with an empty home folder.
pub(crate) struct Operator {
    pub(crate) home: TempDir,
    variables: Vec<(String, String)>,
    /// Whether its commands have `--local`.
    is_local: bool,
}

/// A key that `keys create` has made.
pub(crate) struct CreatedKey {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Operator {
    /// An operator whose variables name the tables of this app, its queues and its key snapshot.
    pub(crate) fn new(app: &TestApp) -> Self {
        Self::with_tables(app)
            .with_queues(&app.sqs)
            .with_key_snapshot(&app.s3)
    }

    /// An operator whose variables name the tables of this app, and neither queues nor a key snapshot.
    pub(crate) fn with_tables(app: &TestApp) -> Self {
        let mut operator = Self::with_credentials(&app.emulator.endpoint());
        for (variable, table) in VARIABLES {
            operator
                .variables
                .push((variable.to_owned(), table_name(table).to_owned()));
        }
        operator.variable("SIGNAL_RETENTION_DAYS", "0")
    }

    /// An operator whose variables have credentials for this endpoint but no table.
    pub(crate) fn with_credentials(endpoint: &str) -> Self {
        let variables = [
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoint),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
        ];
        let mut operator = Self::with_nothing();
        operator
            .variables
            .extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        operator
    }

    /// An operator without any variable.
    pub(crate) fn with_nothing() -> Self {
        // Without this variable, the SDK would ask the instance metadata service for credentials.
        let variables = vec![("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned())];
        Self {
            home: tempfile::tempdir().unwrap(),
            variables,
            is_local: false,
        }
    }

    /// The operator of a local stack with these variables. Its SQS counts each message at once, so that an erasure
    /// does not wait for the counts.
    pub(crate) fn of_local_stack(self) -> Self {
        Self {
            is_local: true,
            ..self
        }
    }

    /// The operator with the endpoint of this SQS.
    pub(crate) fn with_sqs(self, sqs: &FakeSqs) -> Self {
        self.variable("AWS_ENDPOINT_URL_SQS", &sqs.endpoint())
    }

    /// The operator with this SQS and the variables of its queues.
    pub(crate) fn with_queues(self, sqs: &FakeSqs) -> Self {
        self.with_sqs(sqs)
            .variable("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE)
            .variable("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE)
    }

    /// The operator with the bucket of a key snapshot in this S3.
    pub(crate) fn with_key_snapshot(self, s3: &FakeS3) -> Self {
        self.variable("AWS_ENDPOINT_URL_S3", &s3.endpoint())
            .variable("KEY_SNAPSHOT_BUCKET", KEY_SNAPSHOT_BUCKET)
    }

    /// The operator with this variable set as well.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes the operator's variables into a file for `--local`.
    pub(crate) fn write_env_file(&self, name: &str) {
        let lines: Vec<_> = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        self.file(name, &lines.concat());
    }

    /// These arguments for the command, with the operator's variables as those of a local stack, whose SQS counts
    /// each message at once.
    pub(crate) fn local<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        self.write_env_file("dev.env");
        [&["--local=dev.env"], arguments].concat()
    }

    /// The command with these arguments, to be run in the operator's home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_intake"));
        if self.is_local {
            return self.command_of(program, &self.local(arguments));
        }
        self.command_of(program, arguments)
    }

    fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command, in a pipe, with nothing on standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with(arguments, "")
    }

    /// Runs a copy of the program in the same way.
    pub(crate) fn run_as(&self, program: &Path, arguments: &[&str]) -> CommandOutput {
        finish(self.command_of(program, arguments), "")
    }

    /// Runs the command, in a pipe, with this on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> CommandOutput {
        finish(self.command(arguments), input)
    }

    /// Runs `keys create` for the account `shop`.
    pub(crate) fn run_keys_create(&self, name: &str, more: &[&str]) -> CommandOutput {
        let create = ["keys", "create", "--account", "shop", "--name", name];
        self.run(&[&create, more].concat())
    }

    /// Creates a key of the account `shop` with this name.
    #[track_caller]
    pub(crate) fn create_key(&self, name: &str) -> CreatedKey {
        let created = self.run_keys_create(name, &["--json"]).success();
        let created = created.json().remove(0);
        CreatedKey {
            id: created["keyId"].as_str().unwrap().to_owned(),
            secret: created["key"].as_str().unwrap().to_owned(),
        }
    }

    /// The keys of all accounts.
    #[track_caller]
    pub(crate) fn list_keys(&self) -> Vec<Value> {
        self.run(&["keys", "list", "--json"]).success().json()
    }

    /// Writes a file into the operator's home.
    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

/// Copies a program into this folder. Another process copies it: while this one had the copy open
/// for writing, a process that another test starts would inherit it, and the kernel runs no program
/// that is open for writing.
pub(crate) fn install(program: &Path, folder: &Path) -> PathBuf {
    let installed = folder.join(program.file_name().unwrap());
    let status = Command::new("cp")
        .arg(program)
        .arg(&installed)
        .status()
        .unwrap();
    assert!(status.success());
    installed
}

fn finish(mut command: Command, input: &str) -> CommandOutput {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing closes its end first.
    let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
    let output = process.wait_with_output().unwrap();
    CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn send_signal(process: &Child, name: &str) {
    let signal = format!("-{name}");
    let status = Command::new("kill")
        .args([signal, process.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

impl CommandOutput {
    /// Fails unless the command succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Fails unless the command failed and wrote no result; returns its error message.
    #[track_caller]
    pub(crate) fn error_message(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let last = self.stderr.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").expect(&self.stderr).to_owned()
    }

    /// Standard output as JSON, line by line.
    pub(crate) fn json(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }
}

/// A text of lines of JSON.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}
