//! Finds template.yaml, the sample data and the other programs, and builds the programs. `cargo
//! dev` finds them in the workspace, as cargo itself says. In an unpacked release, `./dev` finds
//! them beside itself. Nothing else differs between `cargo dev` and `./dev`. Must not know what the
//! programs do.

pub(crate) mod operator;
mod process;
pub(crate) mod sample_data;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_command::cargo_command;
use serde_json::Value;
use tokio::process::Command;

use crate::terminal::status;

#[derive(Clone)]
pub(crate) struct Programs {
    /// The folder of template.yaml and of events/seed.
    pub(crate) root: PathBuf,
    /// The cargo that builds the programs. `None` in a release, which has them already.
    cargo: Option<Cargo>,
}

#[derive(Clone)]
struct Cargo {
    program: PathBuf,
    /// The target folder, as cargo itself names it, since `CARGO_TARGET_DIR` may set another one.
    target: PathBuf,
}

/// The folder of this program, if it is the folder of an unpacked release.
pub(crate) fn release_folder() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_owned();
    folder.join("template.yaml").is_file().then_some(folder)
}

impl Programs {
    /// Finds the programs of the release, or of the workspace that the current folder belongs to.
    ///
    /// # Errors
    /// There is no release, and cargo is missing or the folder is in no workspace.
    pub(crate) fn find() -> Result<Self> {
        if let Some(root) = release_folder() {
            return Ok(Self { root, cargo: None });
        }
        let program =
            std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let output = cargo_command(&program)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("Cannot run {}", program.display()))?;
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let folder = |name| {
            metadata
                .get(name)
                .and_then(Value::as_str)
                .map(PathBuf::from)
        };
        match (folder("workspace_root"), folder("target_directory")) {
            (Some(root), Some(target)) => Ok(Self {
                root,
                cargo: Some(Cargo { program, target }),
            }),
            _ => {
                bail!("Cargo cannot read the workspace of this folder: its message above says why.")
            }
        }
    }

    /// The path of the file for the variables, unless an option names another one.
    pub(crate) fn env_file(&self) -> PathBuf {
        self.cargo
            .as_ref()
            .map(|cargo| cargo.target.clone())
            .unwrap_or_default()
            .join("dev.env")
    }

    /// The path of a program, such as `intake`.
    pub(crate) fn path_of(&self, program: &str) -> PathBuf {
        self.cargo
            .as_ref()
            .map_or_else(|| self.root.clone(), |cargo| cargo.target.join("debug"))
            .join(program)
    }

    /// Builds a program, and shows cargo's own progress. A release has the program already.
    ///
    /// # Errors
    /// Cargo cannot be started, or the build fails. The error calls the program `name`.
    pub(crate) async fn build(&self, program: &str, name: &str) -> Result<()> {
        let Some(cargo) = &self.cargo else {
            return Ok(());
        };
        status(&format!("Building {program}"));
        let mut command = Command::from(cargo_command(&cargo.program));
        command
            .args(["build", "--locked", "--bin", program])
            .current_dir(&self.root);
        let is_built = process::run(command).await?;
        ensure!(
            is_built,
            "{name} could not be built: cargo's output above says why."
        );
        Ok(())
    }
}
