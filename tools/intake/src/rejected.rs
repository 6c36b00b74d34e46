//! `rejected`: lists the signals that the service rejected, and redrives them.

mod list;
mod redrive;

use anyhow::Result;
use clap::Subcommand;

use self::list::ListRejected;
use self::redrive::RedriveRejected;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum RejectedCommand {
    /// List rejected signals with their first error; with --json with all errors and the payloads
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected list --account shop --since 7d\n  \
        cargo intake --stack intake-prod rejected list --account shop --json > rejected.ndjson"
    )]
    List(ListRejected),

    /// Parse and store rejected signals again; those that are stored are no longer rejected
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected redrive --account shop --dry-run\n  \
        cargo intake --stack intake-prod rejected redrive --account shop 2026-11-20-07-3fa85f64-3\n  \
        cargo intake --stack intake-prod rejected redrive --account shop --from rejected.ndjson\n\n\
        FILE has lines of `rejected list --json`, with the payloads as they should be. A signal keeps the time at which it first \
        arrived; one that would already be expired is left where it is."
    )]
    Redrive(RedriveRejected),
}

impl RejectedCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::List(list) => list.run(&stack.rejected_table()?, format).await,
            Self::Redrive(redrive) => redrive.run(&stack.tables()?, format).await,
        }
    }
}
