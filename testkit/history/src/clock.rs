//! The clocks of processes, which differ as those of execution environments do. This module must
//! not know what a process does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sandbox::function_process::ProcessOptions;

/// How far the clock of any process is ahead, at most.
pub(super) const MAX_AHEAD: Duration = Duration::from_mins(1);

/// One process of this many is ahead by that.
const FAR_AHEAD_EVERY: u64 = 16;

/// How far the others are ahead, in turn.
const AHEAD: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(700),
    Duration::from_secs(2),
];

/// How far the clock of the `number`-th process of a pool is ahead.
pub(super) fn ahead(number: u64) -> Duration {
    if number % FAR_AHEAD_EVERY == FAR_AHEAD_EVERY / 2 {
        return MAX_AHEAD;
    }
    let turn = usize::try_from(number).unwrap_or_default() % AHEAD.len();
    AHEAD[turn]
}

/// A clock that is ahead of this machine's, for the processes that load it.
pub(super) struct SkewedClock {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl SkewedClock {
    /// Compiles the library of the clock with the C compiler that Rust links with.
    ///
    /// # Errors
    /// When this is not Linux, or there is no such compiler.
    pub(super) fn compile() -> Result<Self> {
        ensure!(
            cfg!(target_os = "linux"),
            "a history needs Linux: elsewhere a process has no clock of its own"
        );
        let folder = tempfile::tempdir()?;
        let library = folder.path().join("clock_offset.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/clock_offset.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .arg(&library)
            .arg(source)
            .status()
            .context("cc, which Rust links with, cannot be started")?;
        ensure!(compiled.success(), "cc cannot compile the clock");
        Ok(Self {
            library,
            _folder: folder,
        })
    }

    /// Sets the clock of the `number`-th process before it is started. The deadlines that the
    /// process is given are still those of this machine's clock.
    pub(super) fn set(&self, options: &mut ProcessOptions, number: u64) {
        let library = OsString::from(&self.library);
        let offset = ahead(number).as_millis().to_string();
        options.variables.extend([
            ("LD_PRELOAD".to_owned(), library),
            ("CLOCK_OFFSET_MILLIS".to_owned(), offset.into()),
        ]);
    }
}
