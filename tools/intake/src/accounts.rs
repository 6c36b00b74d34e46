//! `accounts`: whole accounts.

mod erase;

use anyhow::Result;
use clap::Subcommand;
use model::account::AccountId;

use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Erase everything that is stored of an account, and revoke its keys; this reads all tables
    #[command(
        after_help = "It is refused while the overflow queue has messages: their signals would be stored after the erasure. The keys of the \
        account stay in the key table, revoked: their ids are in logs. After an interruption, run it again: it \
        erases what is left. Backups are not changed."
    )]
    Erase {
        /// The account
        #[arg(value_name = "ACCOUNT")]
        account: AccountId,

        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,

        /// Erase although messages are in the overflow queue or in its dead-letter queue
        #[arg(long)]
        anyway: bool,
    },
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Erase { account, yes, anyway } => erase::erase(stack, &account, yes, anyway, format).await,
        }
    }
}
