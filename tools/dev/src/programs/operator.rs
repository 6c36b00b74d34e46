//! The operator's command line, `cargo intake`, on the tables of the running stack. Must not know
//! what its commands do.

use anyhow::Result;
use tokio::process::Command;

use crate::programs::Programs;
use crate::stack_info::StackInfo;
use crate::stand_ins::overflow_queue::VARIABLES;

/// Variables of the developer that would make the SDK use another endpoint or account, or `cargo
/// intake` a deployed stack.
const UNWANTED_VARIABLES: [&str; 6] = [
    "AWS_ENDPOINT_URL",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "INTAKE_STACK",
    "KEY_SNAPSHOT_BUCKET",
];

/// Makes commands of `cargo intake`.
#[derive(Clone)]
pub(crate) struct OperatorProgram {
    programs: Programs,
    environment: Vec<(String, String)>,
}

impl OperatorProgram {
    pub(crate) fn new(programs: &Programs, stack_info: &StackInfo) -> Self {
        Self {
            programs: programs.clone(),
            environment: stack_info.environment.clone(),
        }
    }

    /// Builds the program, and shows cargo's own progress.
    ///
    /// # Errors
    /// Cargo cannot be started, or the build fails.
    pub(crate) async fn build(&self) -> Result<()> {
        self.programs.build("intake", "`cargo intake`").await
    }

    /// A command with these arguments. It starts the program itself, which has to be built already,
    /// since `cargo intake` would take longer to start than the command takes.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.path_of("intake"));
        command.args(arguments);
        command.current_dir(&self.programs.root);
        for unwanted in UNWANTED_VARIABLES.iter().chain(&VARIABLES) {
            command.env_remove(unwanted);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}
