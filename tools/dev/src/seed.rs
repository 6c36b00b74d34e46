//! Something to look at. What customers do is the operator's command's to know: this only starts it.

use dev::Error;
use tokio::process::Command;

use crate::announcement::Announcement;
use crate::functions::UNWANTED_VARIABLES;
use crate::process::succeeds;
use crate::progress::say;
use crate::workspace::Workspace;

/// Has `cargo intake seed` fill the tables of `announcement`.
///
/// # Errors
/// It fails, or cannot be built.
pub(crate) async fn seed(workspace: &Workspace, announcement: &Announcement) -> Result<(), Error> {
    say("Filling the tables with made-up customers and journeys (the first time, `cargo intake` is built for it)");
    let mut command = Command::new(&workspace.cargo);
    // As the alias `intake` of .cargo/config.toml has it.
    command.args(["run", "--locked", "--quiet", "--bin", "intake", "--", "seed"]).current_dir(&workspace.root);
    // Standard output is for what the stack says of itself when it runs.
    command.stdout(std::io::stderr());
    for unwanted in UNWANTED_VARIABLES {
        command.env_remove(unwanted);
    }
    command.envs(announcement.environment.iter().map(|(name, value)| (name, value)));
    if succeeds(command).await? {
        return Ok(());
    }
    Err(Error::new("The local stack could not be seeded: the output above says why."))
}
