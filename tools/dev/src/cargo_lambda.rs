//! Finds or installs cargo-lambda: from its Python wheel in seconds, or compiled in minutes without Python. Must not know
//! what it runs.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use sandbox::cargo::cargo_command;
use tokio::process::Command;

use crate::process::succeeds;
use crate::progress::status;
use crate::workspace::Workspace;

/// What is installed where there is none.
const VERSION: &str = "1.9.2";

/// The oldest that knows every option used here (`--concurrency`).
const OLDEST: (u32, u32) = (1, 9);

/// A usable cargo-lambda.
pub(crate) struct CargoLambda {
    program: PathBuf,
}

impl CargoLambda {
    /// The one on the path, or the one in target/tools, which is installed there first if need be.
    ///
    /// # Errors
    /// There is none and none can be installed.
    pub(crate) async fn find_or_install(workspace: &Workspace) -> Result<Self> {
        let tools = workspace.target.join("tools");
        let installed = tools.join("bin/cargo-lambda");
        for program in [Path::new("cargo-lambda"), &installed] {
            if is_usable(program).await {
                return Ok(Self { program: program.to_owned() });
            }
        }
        install(workspace, &tools, &installed).await?;
        Ok(Self { program: installed })
    }

    /// A command that starts with `cargo lambda`.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::from(cargo_command(&self.program));
        command.arg("lambda");
        command
    }
}

async fn is_usable(program: &Path) -> bool {
    let output = Command::new(program).args(["lambda", "--version"]).stdin(Stdio::null()).output().await;
    let Ok(output) = output else { return false };
    let output = String::from_utf8_lossy(&output.stdout);
    match version(&output) {
        Some(version) if version >= OLDEST => true,
        Some((major, minor)) => {
            let (oldest_major, oldest_minor) = OLDEST;
            status(&format!(
                "{} is version {major}.{minor}, older than {oldest_major}.{oldest_minor}: it is not used.",
                program.display(),
            ));
            false
        }
        None => false,
    }
}

/// The first two numbers of `cargo-lambda 1.9.2 (67129fc 2026-08-21Z)`.
fn version(output: &str) -> Option<(u32, u32)> {
    let mut numbers = output.strip_prefix("cargo-lambda ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Installs into a temporary folder and moves the program from there, so that two installations do not interfere.
async fn install(workspace: &Workspace, tools: &Path, installed: &Path) -> Result<()> {
    let cannot_write = || format!("Cannot write to {}", tools.display());
    std::fs::create_dir_all(tools.join("bin")).with_context(cannot_write)?;
    let folder = tempfile::tempdir_in(tools).with_context(cannot_write)?;
    let fetched = folder.path().join("bin/cargo-lambda");
    for method in [InstallMethod::Pip, InstallMethod::VirtualEnvironment, InstallMethod::Compile] {
        status(&format!("cargo-lambda is not installed: {}", method.message(tools)));
        if method.attempt(workspace, folder.path()).await && is_usable(&fetched).await {
            return std::fs::rename(&fetched, installed).with_context(cannot_write);
        }
    }
    bail!(
        "cargo-lambda {VERSION} could not be installed, for the reasons above: install it by hand (`pip install \
         cargo-lambda` or `cargo install --locked cargo-lambda`) and run `cargo dev` again."
    )
}

#[derive(Clone, Copy)]
enum InstallMethod {
    Pip,
    VirtualEnvironment,
    Compile,
}

impl InstallMethod {
    fn message(self, tools: &Path) -> String {
        let tools = tools.display();
        match self {
            Self::Pip => format!("fetching its Python wheel into {tools} (seconds)."),
            Self::VirtualEnvironment => "trying again from a Python virtual environment.".to_owned(),
            Self::Compile => {
                format!("compiling it into {tools} (several minutes, once; seconds where Python has pip).")
            }
        }
    }

    /// Returns whether it succeeded. Each method prints why it did not.
    async fn attempt(self, workspace: &Workspace, folder: &Path) -> bool {
        let outcome = match self {
            Self::Pip => succeeds(pip(Path::new("python3"), folder)).await,
            Self::VirtualEnvironment => virtual_environment(folder).await,
            Self::Compile => {
                let mut command = Command::from(cargo_command(&workspace.cargo));
                command.args(["install", "--locked", "cargo-lambda", "--version", VERSION, "--root"]).arg(folder);
                // So that nothing is left elsewhere when it is stopped.
                command.env("CARGO_TARGET_DIR", folder.join("build"));
                succeeds(command).await
            }
        };
        outcome.unwrap_or_else(|error| {
            status(&format!("{error:#}"));
            false
        })
    }
}

async fn virtual_environment(folder: &Path) -> Result<bool> {
    let environment = folder.join("python");
    let mut command = Command::new("python3");
    command.args(["-m", "venv"]).arg(&environment);
    Ok(succeeds(command).await? && succeeds(pip(&environment.join("bin/python"), folder)).await?)
}

/// Without its dependencies: ziglang is for cross compilation, which the local stack does not need.
fn pip(python: &Path, folder: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
        .args(["--only-binary", ":all:", "--upgrade", "--target"])
        .arg(folder)
        .arg(format!("cargo-lambda=={VERSION}"))
        .env("PIP_ROOT_USER_ACTION", "ignore");
    command
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn version_is_parsed_from_the_output_of_cargo_lambda() {
        assert_eq!(version("cargo-lambda 1.9.2 (67129fc 2026-08-21Z)\n"), Some((1, 9)));
        assert_eq!(version("error: no such command: `lambda`\n"), None);
    }
}
