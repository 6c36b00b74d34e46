//! Finds cargo-lambda, or gets it: from its Python wheel in seconds, compiled in minutes where Python cannot.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use dev::{Error, cargo_command};
use tokio::process::Command;

use crate::process::succeeds;
use crate::progress::say;
use crate::workspace::Workspace;

/// What is installed where there is none.
const VERSION: &str = "1.9.2";

/// The oldest that knows every option used here (`--concurrency`).
const OLDEST: (u32, u32) = (1, 9);

/// A cargo-lambda that runs.
pub(crate) struct CargoLambda {
    program: PathBuf,
}

impl CargoLambda {
    /// The one on the path, or the one in target/tools, which is installed there first if need be.
    ///
    /// # Errors
    /// None is there and none can be installed.
    pub(crate) async fn find_or_install(workspace: &Workspace) -> Result<Self, Error> {
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
    let said = String::from_utf8_lossy(&output.stdout);
    match version(&said) {
        Some(version) if version >= OLDEST => true,
        Some((major, minor)) => {
            let (oldest_major, oldest_minor) = OLDEST;
            say(&format!(
                "{} is version {major}.{minor}, older than {oldest_major}.{oldest_minor}: looking further.",
                program.display(),
            ));
            false
        }
        None => false,
    }
}

/// The first two numbers of `cargo-lambda 1.9.2 (67129fc 2026-08-21Z)`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("cargo-lambda ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Installs into a folder of its own and moves the program from there: two that install at once do not meet.
async fn install(workspace: &Workspace, tools: &Path, installed: &Path) -> Result<(), Error> {
    let cannot = |error| Error::new(format!("Cannot write to {}: {error}.", tools.display()));
    std::fs::create_dir_all(tools.join("bin")).map_err(cannot)?;
    let folder = tempfile::tempdir_in(tools).map_err(cannot)?;
    let fetched = folder.path().join("bin/cargo-lambda");
    for way in [Way::Pip, Way::VirtualEnvironment, Way::Compile] {
        say(&format!("cargo-lambda is not installed: {}", way.announcement(tools)));
        if way.attempt(workspace, folder.path()).await && is_usable(&fetched).await {
            return std::fs::rename(&fetched, installed).map_err(cannot);
        }
    }
    Err(Error::new(format!(
        "cargo-lambda {VERSION} could not be installed, for the reasons above: install it by hand (`pip install \
         cargo-lambda` or `cargo install --locked cargo-lambda`) and run `cargo dev` again."
    )))
}

#[derive(Clone, Copy)]
enum Way {
    Pip,
    VirtualEnvironment,
    Compile,
}

impl Way {
    fn announcement(self, tools: &Path) -> String {
        let tools = tools.display();
        match self {
            Self::Pip => format!("fetching its Python wheel into {tools} (seconds)."),
            Self::VirtualEnvironment => "trying again from a Python virtual environment.".to_owned(),
            Self::Compile => {
                format!("compiling it into {tools} (several minutes, once; seconds where Python has pip).")
            }
        }
    }

    /// Tells whether it went well. Every way says for itself why it did not.
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
            say(&error.to_string());
            false
        })
    }
}

async fn virtual_environment(folder: &Path) -> Result<bool, Error> {
    let environment = folder.join("python");
    let mut command = Command::new("python3");
    command.args(["-m", "venv"]).arg(&environment);
    Ok(succeeds(command).await? && succeeds(pip(&environment.join("bin/python"), folder)).await?)
}

/// Without its dependencies: ziglang serves cross compilation, which is no part of the local stack.
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
    fn a_version_is_read_from_what_cargo_lambda_says() {
        assert_eq!(version("cargo-lambda 1.9.2 (67129fc 2026-08-21Z)\n"), Some((1, 9)));
        assert_eq!(version("error: no such command: `lambda`\n"), None);
    }
}
