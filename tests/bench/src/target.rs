//! The programs that are measured: the functions and the reference implementations, how they are built and started. Must not
//! know what is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::step;

/// A program that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// In messages.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<PathBuf>,
    /// Beside those that every function has.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Target {
    /// This program with a target of the delivery, which `variable` names, at `endpoint`.
    pub(crate) fn delivering_to(&self, variable: &'static str, endpoint: &str) -> Self {
        let mut target = self.clone();
        target
            .variables
            .extend([(variable, "intake".to_owned()), ("FAILURE_BUCKET_NAME", "intake-failures".to_owned())]);
        let services = ["AWS_ENDPOINT_URL_EVENTBRIDGE", "AWS_ENDPOINT_URL_FIREHOSE", "AWS_ENDPOINT_URL_S3"];
        target.variables.extend(services.map(|name| (name, endpoint.to_owned())));
        target
    }
}

/// The functions, as they are released.
#[derive(Clone, Debug)]
pub(crate) struct Functions {
    pub(crate) customers: Target,
    pub(crate) signals: Target,
    pub(crate) deliver: Target,
}

/// The reference implementations: one function each for both endpoints.
#[derive(Clone, Debug)]
pub(crate) struct References {
    pub(crate) stock: Target,
    pub(crate) python: Target,
    pub(crate) node: Target,
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.ancestors().nth(2).unwrap_or(bench)
}

impl Functions {
    /// Builds them, with symbols: a profile needs them, and they change no instruction.
    pub(crate) fn build() -> Result<Self> {
        step("building the functions as they are released");
        let packages = ["--package", "customers", "--package", "signals", "--package", "deliver"];
        cargo(root(), &["build", "--locked", "--profile", "measured"], &packages)?;
        let variables = vec![(TUNABLES, tunables()?)];
        let built = |name| Target {
            name,
            program: root().join("target/measured").join(name),
            arguments: Vec::new(),
            variables: variables.clone(),
        };
        Ok(Self { customers: built("customers"), signals: built("signals"), deliver: built("deliver") })
    }
}

/// What `template.yaml` sets for the C library.
const TUNABLES: &str = "GLIBC_TUNABLES";

fn tunables() -> Result<String> {
    let template = std::fs::read_to_string(root().join("template.yaml")).context("template.yaml cannot be read")?;
    let value = template.lines().find_map(|line| line.trim().strip_prefix(TUNABLES)?.strip_prefix(": "));
    Ok(value.context("template.yaml sets no GLIBC_TUNABLES")?.to_owned())
}

impl References {
    /// Builds and installs them in target/; what is missing on the machine is found first.
    pub(crate) fn build() -> Result<Self> {
        let (node, python) = (node()?, python()?);
        Ok(Self { stock: stock()?, python, node })
    }
}

fn stock() -> Result<Target> {
    step("building the stock SDK in Rust");
    let target = root().join("target/bench-stock");
    let target_argument = target.to_string_lossy().into_owned();
    cargo(&root().join("tests/bench/stock"), &["build", "--locked", "--release"], &["--target-dir", &target_argument])?;
    let program = target.join("release/stock");
    Ok(Target { name: "the stock SDK in Rust", program, arguments: Vec::new(), variables: Vec::new() })
}

fn python() -> Result<Target> {
    step("installing boto3 for Python");
    let environment = root().join("target/bench-python");
    let program = environment.join("bin/python");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment)).context(
            "the reference implementation in Python needs Python 3 with venv; on Debian: apt-get install python3-venv",
        )?;
    }
    let requirements = root().join("tests/bench/python/requirements.txt");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&program).args(quiet).arg(requirements))?;
    let arguments = vec![root().join("tests/bench/python/function.py")];
    // Hashes are otherwise different in each process, and with them the time.
    let variables = vec![("PYTHONHASHSEED", "0".to_owned())];
    Ok(Target { name: "Python, boto3", program, arguments, variables })
}

fn node() -> Result<Target> {
    const MISSING: &str = "the reference implementation in Node.js needs Node.js 20 or newer, and npm; on Debian: \
                           apt-get install nodejs npm";
    step("installing the AWS SDK for Node.js");
    // The function is started without PATH.
    let path = run(Command::new("node").args(["--print", "process.execPath"])).context(MISSING)?;
    let program = PathBuf::from(path.trim());
    // Node.js looks for modules beside the file, and none belong into the source tree.
    let directory = root().join("target/bench-node");
    std::fs::create_dir_all(&directory)?;
    for file in ["function.mjs", "package.json", "package-lock.json"] {
        std::fs::copy(root().join("tests/bench/node").join(file), directory.join(file))?;
    }
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").current_dir(&directory).args(quiet)).context(MISSING)?;
    let arguments = vec![directory.join("function.mjs")];
    // The SDK warns of versions of Node.js that it will not support one day.
    let variables = vec![("NODE_NO_WARNINGS", "1".to_owned())];
    Ok(Target { name: "Node.js, AWS SDK v3", program, arguments, variables })
}

/// Runs cargo as from a shell, whatever flags and package this benchmark itself has: with another environment, it would build
/// some crates anew each time.
pub(crate) fn cargo(directory: &Path, command: &[&str], more: &[&str]) -> Result<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(directory).env_remove("RUSTFLAGS").args(command).args(more);
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    run(&mut cargo)
}

/// Runs a command to its end; returns what it wrote to standard output. Its errors are shown as it writes them.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{program} cannot be started"))?;
    ensure!(output.status.success(), "{program} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
