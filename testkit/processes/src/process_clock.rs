//! Clocks of processes that differ from this machine's: ahead of it, as those of execution
//! environments may be, or slower than it, for a process that something else slows down.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// The library that gives a process a clock of its own, until it is dropped. The deadlines that
/// Lambda gives the process are still those of this machine's clock.
#[derive(Debug)]
pub struct ProcessClock {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl ProcessClock {
    /// Compiles the library with the C compiler that Rust links with.
    ///
    /// # Errors
    /// When this is not Linux, or there is no such compiler.
    pub fn compile() -> Result<Self> {
        ensure!(
            cfg!(target_os = "linux"),
            "only on Linux can a process have a clock of its own"
        );
        let folder = tempfile::tempdir()?;
        let library = folder.path().join("process_clock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/process_clock.c");
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

    /// The variables of a process whose clock of the day is ahead by this.
    pub fn ahead(&self, duration: Duration) -> [(String, OsString); 2] {
        self.variables("CLOCK_OFFSET_MILLIS", duration.as_millis().to_string())
    }

    /// The variables of a process for which durations are shorter by this factor, so that its
    /// timeouts end later.
    pub fn slower(&self, factor: u32) -> [(String, OsString); 2] {
        self.variables("CLOCK_SLOWDOWN", factor.to_string())
    }

    fn variables(&self, name: &str, value: String) -> [(String, OsString); 2] {
        let library = OsString::from(&self.library);
        [
            ("LD_PRELOAD".to_owned(), library),
            (name.to_owned(), value.into()),
        ]
    }
}
