//! The programs that are measured: both functions and the reference implementations, how they are built and started. Must
//! not know what is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// A program that is measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name in the tables.
    pub name: &'static str,
    /// The file that is executed.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<PathBuf>,
    /// Its variables, beside those that every function has.
    pub variables: Vec<(&'static str, String)>,
}

/// The functions.
#[derive(Clone, Debug)]
pub struct Targets {
    /// This repository's function for customers.
    pub customers: Target,
    /// This repository's function for signals.
    pub signals: Target,
    /// This repository's function for the delivery.
    pub deliver: Target,
}

/// The root of the repository.
pub fn root() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.parent().unwrap_or(bench)
}

/// Builds the functions as they are released, with symbols: a profile needs them, and they change no instruction.
///
/// # Errors
/// When they cannot be built; cargo has shown why.
pub fn build_functions() -> Result<Targets> {
    let packages = ["--package", "customers", "--package", "signals", "--package", "deliver"];
    cargo(root(), &["build", "--locked", "--profile", "measured"], &packages)?;
    let variables = vec![(TUNABLES, tunables()?)];
    let built = |name| Target {
        name,
        program: root().join("target/measured").join(name),
        arguments: Vec::new(),
        variables: variables.clone(),
    };
    Ok(Targets { customers: built("customers"), signals: built("signals"), deliver: built("deliver") })
}

/// What `template.yaml` sets for the C library.
const TUNABLES: &str = "GLIBC_TUNABLES";

fn tunables() -> Result<String> {
    let template = std::fs::read_to_string(root().join("template.yaml")).context("template.yaml cannot be read")?;
    let value = template.lines().find_map(|line| line.trim().strip_prefix(TUNABLES)?.strip_prefix(": "));
    Ok(value.context("template.yaml sets no GLIBC_TUNABLES")?.to_owned())
}

/// Builds the reference implementation in Rust: one function for both endpoints, with the SDK's defaults.
///
/// # Errors
/// When it cannot be built; cargo has shown why.
pub fn build_stock() -> Result<Target> {
    let target = root().join("target/bench-stock");
    let target_argument = target.to_string_lossy().into_owned();
    cargo(&root().join("bench/stock"), &["build", "--locked", "--release"], &["--target-dir", &target_argument])?;
    Ok(Target {
        name: "stock SDK",
        program: target.join("release/stock"),
        arguments: Vec::new(),
        variables: Vec::new(),
    })
}

/// Installs Python and boto3 for the reference implementation in Python, in target/.
///
/// # Errors
/// When there is no Python 3 with `venv`, or boto3 cannot be installed.
pub fn install_python() -> Result<Target> {
    let environment = root().join("target/bench-python");
    let program = environment.join("bin/python");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).context(
            "the reference implementation in Python needs Python 3 with venv; on Debian: apt-get install python3-venv",
        )?;
    }
    let requirements = root().join("bench/python/requirements.txt");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&program).args(quiet).arg(requirements))?;
    Ok(Target {
        name: "Python",
        program,
        arguments: vec![root().join("bench/python/function.py")],
        variables: Vec::new(),
    })
}

fn cargo(directory: &Path, command: &[&str], more: &[&str]) -> Result<()> {
    // The functions are built as they are released, whatever flags the benchmark itself was built with.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).current_dir(directory).env_remove("RUSTFLAGS").args(command).args(more))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    if !status.success() {
        bail!("{} failed: {status}", command.get_program().display());
    }
    Ok(())
}
