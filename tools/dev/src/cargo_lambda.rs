//! Finds cargo-lambda, or installs it from its Python wheel in seconds. Must not know what it runs.

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
        install(&tools, &installed).await?;
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
async fn install(tools: &Path, installed: &Path) -> Result<()> {
    let cannot_write = || format!("Cannot write to {}", tools.display());
    std::fs::create_dir_all(tools.join("bin")).with_context(cannot_write)?;
    let folder = tempfile::tempdir_in(tools).with_context(cannot_write)?;
    let fetched = folder.path().join("bin/cargo-lambda");
    let message = "cargo-lambda is not installed: fetching its Python wheel into";
    status(&format!("{message} {} (seconds).", tools.display()));
    // Whether it works says more than pip's exit status: pyenv's wrapper of pip fails where two run at once.
    if let Err(error) = succeeds(pip(folder.path())).await {
        status(&format!("{error:#}"));
    }
    if is_usable(&fetched).await {
        return std::fs::rename(&fetched, installed).with_context(cannot_write);
    }
    bail!(
        "cargo-lambda {VERSION} could not be installed, for the reason above. `cargo dev` needs Python 3 with pip for it (on \
         Debian: apt-get install python3-pip), or a cargo-lambda on the path (`cargo install --locked cargo-lambda`)."
    )
}

/// Without its dependencies: ziglang is for cross compilation, which the local stack does not need.
fn pip(folder: &Path) -> Command {
    let mut command = Command::new("python3");
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
