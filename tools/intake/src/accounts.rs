//! `accounts`: counts what accounts send, and erases whole accounts.

mod erase;
mod usage;

use anyhow::Result;
use clap::Subcommand;
use model::timestamp::Timestamp;

use self::erase::EraseAccount;
use crate::output::Format;
use crate::stack::Stack;
use crate::time_args::time_or_age;

#[derive(Debug, Subcommand)]
pub(crate) enum AccountsCommand {
    /// Count the requests and signals of each account and key, from the functions' logs; last seen
    #[command(
        after_help = "Example:\n  cargo intake --stack intake-prod accounts usage --since 24h\n\n\
        CloudWatch Logs reads every line of the period, for $0.005 per GB."
    )]
    Usage {
        /// Only requests at or after this time, such as 6h (ago) or 2026-11-20
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time_or_age)]
        since: Timestamp,
    },

    /// Erase everything that is stored of an account, and revoke its keys; this reads all tables
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod accounts erase shop --dry-run\n  \
        cargo intake --stack intake-prod accounts erase shop\n\n\
        It is refused while the overflow queue or its dead-letter queue has messages: what is in them \
        would be stored after the erasure. The keys of the \
        account stay in the key table, revoked: their ids are in logs. After an interruption, run it again: it \
        erases what is left. Backups are not changed, and the lake only by `lake erase`."
    )]
    Erase(EraseAccount),
}

impl AccountsCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::Usage { since } => usage::usage(stack, since, format).await,
            Self::Erase(erase) => erase.run(stack, format).await,
        }
    }
}
