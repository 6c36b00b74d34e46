//! Where the repository is and where cargo builds, as cargo itself says: it knows about `CARGO_TARGET_DIR`.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use sandbox::cargo::cargo_command;
use serde_json::Value;
use tokio::process::Command;

use crate::process::succeeds;
use crate::progress::status;

#[derive(Clone)]
pub(crate) struct Workspace {
    /// The folder of template.yaml.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// The cargo to start.
    pub(crate) cargo: PathBuf,
}

impl Workspace {
    /// The workspace that the current folder belongs to.
    ///
    /// # Errors
    /// Cargo is missing, or the folder is in no workspace.
    pub(crate) fn of_current_folder() -> Result<Self> {
        let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let output = cargo_command(&cargo)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("Cannot run {}", cargo.display()))?;
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let folder = |name| metadata.get(name).and_then(Value::as_str).map(PathBuf::from);
        match (folder("workspace_root"), folder("target_directory")) {
            (Some(root), Some(target)) => Ok(Self { root, target, cargo }),
            _ => bail!("Cargo cannot read the workspace of this folder: its message above says why."),
        }
    }

    /// Builds the programs of `what` with cargo's own progress.
    ///
    /// # Errors
    /// Cargo cannot be started, or the build fails.
    pub(crate) async fn build(&self, what: &str, programs: &[&str], release: bool) -> Result<()> {
        status(&format!("Building {}", programs.join(", ")));
        let mut command = Command::from(cargo_command(&self.cargo));
        command.args(["build", "--locked"]).current_dir(&self.root);
        command.args(programs.iter().flat_map(|program| ["--bin", program]));
        command.args(release.then_some("--release"));
        ensure!(succeeds(command).await?, "{what} could not be built: cargo's output above says why.");
        Ok(())
    }
}
