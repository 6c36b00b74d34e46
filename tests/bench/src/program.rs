//! The programs that are measured: the functions, and how they are built.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use processes::cargo_command::cargo_command;

use crate::report::step;

/// What `cargo lambda build --release` adds to RUSTFLAGS: see `target_arch.rs` in its source.
const TARGET_CPU: &str = if cfg!(target_arch = "aarch64") {
    "neoverse-n1"
} else {
    "haswell"
};

/// A program that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// How messages name the program.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The program that runs it. Empty for none.
    pub(crate) wrapper: Vec<OsString>,
    /// Environment variables beside those that every function has.
    pub(crate) variables: Vec<(String, OsString)>,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.ancestors().nth(2).unwrap_or(bench)
}

/// Builds the functions as they are deployed, but with symbols: SHA-256 is told apart by them, and
/// they change no instruction.
pub(crate) fn build_functions() -> Result<()> {
    step("building the functions as they are deployed");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = cargo_command(cargo)
        .args(["build", "--locked"])
        .args(["--profile", "measured"])
        .args(["--package", "customers"])
        .args(["--package", "signals"])
        .current_dir(root())
        .env("RUSTFLAGS", format!("-C target-cpu={TARGET_CPU}"))
        .status()
        .context("cargo cannot be started")?;
    ensure!(
        status.success(),
        "the functions cannot be built; cargo has shown why"
    );
    Ok(())
}

/// A function that was built, with what template.yaml sets for the C library.
pub(crate) fn function(name: &str) -> Result<Program> {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    let template = std::fs::read_to_string(root().join("template.yaml"))
        .context("template.yaml cannot be read")?;
    let value = |line: &str| {
        let value = line.trim().strip_prefix(TUNABLES)?.strip_prefix(": ")?;
        Some(value.to_owned())
    };
    let tunables = template
        .lines()
        .find_map(value)
        .context("template.yaml sets no GLIBC_TUNABLES")?;
    let path = root().join("target/measured").join(name);
    Ok(Program {
        name: name.to_owned(),
        path,
        wrapper: Vec::new(),
        variables: vec![(TUNABLES.to_owned(), tunables.into())],
    })
}
