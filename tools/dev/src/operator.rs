//! The operator's command line, `cargo intake`, on the tables of the running stack. Must not know what its commands do.

use anyhow::Result;
use sandbox::cargo::cargo_command;
use tokio::process::Command;

use crate::functions::set_environment;
use crate::stack_info::StackInfo;
use crate::workspace::Workspace;

/// Runs commands of `cargo intake`.
pub(crate) struct Operator {
    workspace: Workspace,
    environment: Vec<(String, String)>,
}

impl Operator {
    pub(crate) fn new(workspace: &Workspace, stack_info: &StackInfo) -> Self {
        Self { workspace: workspace.clone(), environment: stack_info.environment.clone() }
    }

    /// Builds the program with cargo's own progress.
    ///
    /// # Errors
    /// Cargo cannot be started, or the build fails.
    pub(crate) async fn build(&self) -> Result<()> {
        self.workspace.build("`cargo intake`", &["intake"], false).await
    }

    /// A command with these arguments. It is built already, so with `--quiet` only its own messages are printed.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(cargo_command(&self.workspace.cargo));
        command.args(["run", "--locked", "--quiet", "--bin", "intake", "--"]).args(arguments);
        command.current_dir(&self.workspace.root);
        set_environment(&mut command, &self.environment);
        command
    }
}
