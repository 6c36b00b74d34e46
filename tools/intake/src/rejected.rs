//! `rejected`: the signals that the service rejected, why, and their redrive.

mod edited;
mod id;
mod list;
mod redrive;
mod rejected_signal;
mod table;

use anyhow::Result;
use clap::Subcommand;

use self::list::List;
use self::redrive::Redrive;
pub(crate) use self::table::RejectedTable;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List rejected signals with their errors; with --json also their payloads
    List(List),

    /// Parse and store rejected signals again; those that are stored are no longer rejected
    #[command(
        after_help = "FILE has lines of `rejected list --json`, with the payloads as they should be. A signal keeps the time at which it first \
        arrived; one that would already be expired is left where it is."
    )]
    Redrive(Redrive),
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let rejected = RejectedTable::new(stack)?;
        match self {
            Self::List(list) => list.run(&rejected, format).await,
            Self::Redrive(redrive) => redrive.run(&rejected, format).await,
        }
    }
}
