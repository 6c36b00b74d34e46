//! One execution environment of a function: its process, its clock, and its own faulty way to DynamoDB. Must not know who
//! calls it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use fault_proxy::FaultProxy;
use sandbox::function_process::{FunctionProcess, ProcessOptions};

/// How far the clocks of environments are apart, at most.
pub(super) const CLOCK_SKEW: Duration = Duration::from_secs(2);

/// How far they are ahead, in turn.
pub(super) const CLOCK_SKEWS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(700), CLOCK_SKEW];

pub(super) struct Environment {
    pub(super) proxy: FaultProxy,
    options: ProcessOptions,
    process: FunctionProcess,
    /// Of the processes that were killed.
    errors: u64,
    /// Whether the last process ended by itself.
    has_failed: bool,
}

impl Environment {
    pub(super) async fn start(mut options: ProcessOptions, proxy: FaultProxy) -> Self {
        options.dynamodb = proxy.endpoint();
        let process = FunctionProcess::start(&options).await.unwrap();
        Self { proxy, options, process, errors: 0, has_failed: false }
    }

    /// Kills the process wherever it is, and starts another. What the process has sent may still be on its way to DynamoDB.
    pub(super) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
        self.errors = self.invocation_errors();
        self.process = FunctionProcess::start(&self.options).await.unwrap();
    }

    /// Ends the process, and waits until nothing that it sent is on its way.
    pub(super) async fn end(&mut self) {
        self.has_failed = self.process.has_ended();
        self.process.kill().await.unwrap();
        self.proxy.idle().await;
    }

    /// How many invocations ended in an error.
    pub(super) fn invocation_errors(&self) -> u64 {
        self.errors + self.process.invocation_errors()
    }

    /// Whether the process had ended by itself when it was ended.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }
}

/// A clock that is ahead of this machine's, for the processes that load it.
pub(super) struct SkewedClock {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl SkewedClock {
    /// Compiles it with the C compiler that Rust links with. `None` where a process cannot be given a clock.
    ///
    /// # Errors
    /// When there is no such compiler.
    pub(super) fn compile() -> Result<Option<Self>> {
        if !cfg!(target_os = "linux") {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let library = folder.path().join("clock_offset.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/clock_offset.c");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(source).status();
        ensure!(
            compiled.context("cc, which Rust links with, cannot be started")?.success(),
            "cc cannot compile the clock"
        );
        Ok(Some(Self { library, _folder: folder }))
    }

    /// Sets the clock of a process that will be started. Its deadlines are those of its own clock.
    pub(super) fn set(&self, options: &mut ProcessOptions, ahead: Duration) {
        options.invocation_timeout += ahead;
        options.variables.push(("LD_PRELOAD".to_owned(), self.library.clone().into()));
        options.variables.push(("CLOCK_OFFSET_MILLIS".to_owned(), OsString::from(ahead.as_millis().to_string())));
    }
}
