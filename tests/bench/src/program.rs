//! The programs that are measured: the functions and the reference implementations, and how they are built. Must not know
//! what is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use sandbox::cargo::cargo_command;

use crate::report::step;

/// What `cargo lambda build --release` adds to RUSTFLAGS: see `target_arch.rs` in its source.
const TARGET_CPU: &str = if cfg!(target_arch = "aarch64") { "neoverse-n1" } else { "haswell" };

/// A program that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// In messages and in the header of the comparison.
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<PathBuf>,
    /// Beside those that every function has.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.ancestors().nth(2).unwrap_or(bench)
}

/// Builds the functions as they are deployed, but with symbols: a profile needs them, and they change no instruction.
pub(crate) fn build_functions() -> Result<()> {
    step("building the functions as they are deployed");
    let mut cargo = cargo_command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--locked", "--profile", "measured", "--package", "customers", "--package", "signals"]);
    run(cargo.current_dir(root()).env("RUSTFLAGS", format!("-C target-cpu={TARGET_CPU}"))).map(drop)
}

/// A function that was built, with what template.yaml sets for the C library.
pub(crate) fn function(name: &'static str) -> Result<Program> {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    let template = std::fs::read_to_string(root().join("template.yaml")).context("template.yaml cannot be read")?;
    let tunables = template.lines().find_map(|line| line.trim().strip_prefix(TUNABLES)?.strip_prefix(": "));
    let tunables = tunables.context("template.yaml sets no GLIBC_TUNABLES")?.to_owned();
    let path = root().join("target/measured").join(name);
    Ok(Program { name, path, arguments: Vec::new(), variables: vec![(TUNABLES, tunables)] })
}

/// The reference implementation in Python, installed in target/.
pub(crate) fn python() -> Result<Program> {
    step("installing boto3 for Python");
    let environment = root().join("target/bench-python");
    let path = environment.join("bin/python");
    if !path.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))
            .context("Python 3 with venv is needed; on Debian: apt-get install python3-venv")?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--requirement"];
    run(Command::new(&path).args(pip).arg(root().join("tests/bench/python/requirements.txt")))?;
    // Hashes are otherwise different in each process, and with them the time.
    let variables = vec![("PYTHONHASHSEED", "0".to_owned())];
    let arguments = vec![root().join("tests/bench/python/function.py")];
    Ok(Program { name: "Python, boto3", path, arguments, variables })
}

/// The reference implementation in Node.js, installed in target/: Node.js looks for modules beside the file.
pub(crate) fn node() -> Result<Program> {
    const MISSING: &str = "Node.js 20 or newer and npm are needed; on Debian: apt-get install nodejs npm";
    step("installing the AWS SDK for Node.js");
    // The function is started without PATH.
    let path = run(Command::new("node").args(["--print", "process.execPath"])).context(MISSING)?;
    let directory = root().join("target/bench-node");
    std::fs::create_dir_all(&directory)?;
    for file in ["function.mjs", "package.json", "package-lock.json"] {
        std::fs::copy(root().join("tests/bench/node").join(file), directory.join(file))?;
    }
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").current_dir(&directory).args(quiet)).context(MISSING)?;
    // The SDK warns of versions of Node.js that it will not support one day.
    let variables = vec![("NODE_NO_WARNINGS", "1".to_owned())];
    let arguments = vec![directory.join("function.mjs")];
    Ok(Program { name: "Node.js, AWS SDK v3", path: path.trim().into(), arguments, variables })
}

/// Runs a command to its end; returns what it wrote to standard output. Its errors are shown as it writes them.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{program} cannot be started"))?;
    ensure!(output.status.success(), "{program} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
