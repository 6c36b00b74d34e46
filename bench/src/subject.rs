//! The functions that are measured, and the yardsticks: how they are built, and how Lambda would start them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// A function as a program.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What the tables call it.
    pub name: &'static str,
    /// What is executed.
    pub program: PathBuf,
    /// With these arguments.
    pub arguments: Vec<PathBuf>,
    /// With these variables, beside those that every function has.
    pub variables: Vec<(&'static str, String)>,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Subjects {
    /// This repository's function for customers.
    pub customers: Subject,
    /// This repository's function for signals.
    pub signals: Subject,
}

/// The root of the repository.
#[must_use]
pub fn root() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.parent().unwrap_or(bench)
}

/// Builds the two functions as they are released, but for the symbols: those are needed to say where instructions go,
/// and change none of them.
///
/// # Errors
/// When they cannot be built; the compiler has said why.
pub fn build_functions() -> Result<Subjects> {
    let packages = ["--package", "customers", "--package", "signals"];
    cargo(root(), &["build", "--locked", "--profile", "measured"], &packages)?;
    let variables = vec![(TUNABLES, tunables()?)];
    let built = |name| Subject {
        name,
        program: root().join("target/measured").join(name),
        arguments: Vec::new(),
        variables: variables.clone(),
    };
    Ok(Subjects { customers: built("customers"), signals: built("signals") })
}

/// What `template.yaml` sets for the C library.
const TUNABLES: &str = "GLIBC_TUNABLES";

fn tunables() -> Result<String> {
    let template = std::fs::read_to_string(root().join("template.yaml")).context("template.yaml cannot be read")?;
    let value = template.lines().find_map(|line| line.trim().strip_prefix(TUNABLES)?.strip_prefix(": "));
    Ok(value.context("template.yaml sets no GLIBC_TUNABLES")?.to_owned())
}

/// Builds the function with the stock SDK, which does both jobs.
///
/// # Errors
/// When it cannot be built; the compiler has said why.
pub fn build_stock() -> Result<Subject> {
    let target = root().join("target/bench-stock");
    let target_argument = target.to_string_lossy().into_owned();
    cargo(&root().join("bench/stock"), &["build", "--locked", "--release"], &["--target-dir", &target_argument])?;
    Ok(Subject {
        name: "stock SDK",
        program: target.join("release/stock"),
        arguments: Vec::new(),
        variables: Vec::new(),
    })
}

/// Installs boto3 beside a Python of its own, below `target`.
///
/// # Errors
/// When there is no Python 3 with `venv`, or boto3 cannot be had.
pub fn install_python() -> Result<Subject> {
    let environment = root().join("target/bench-python");
    let program = environment.join("bin/python");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).context(
            "the Python yardstick needs Python 3 with its module venv; on Debian: apt-get install python3-venv",
        )?;
    }
    let requirements = root().join("bench/python/requirements.txt");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&program).args(quiet).arg(requirements))?;
    Ok(Subject {
        name: "Python",
        program,
        arguments: vec![root().join("bench/python/function.py")],
        variables: Vec::new(),
    })
}

fn cargo(directory: &Path, command: &[&str], more: &[&str]) -> Result<()> {
    // `cargo bench` sets variables for its own package; the functions are built as from a shell.
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
