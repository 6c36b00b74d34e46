//! `signals`: lists the signals of one customer or emitter, or erases the signals of one type.

mod erase;
mod list;

use anyhow::Result;
use clap::Subcommand;

use self::erase::EraseSignals;
use self::list::ListSignals;
use crate::output::Format;
use crate::stack::Stack;

#[derive(Debug, Subcommand)]
pub(crate) enum SignalsCommand {
    /// List the newest signals of a customer or an emitter, oldest first
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod signals list --account shop customer-17 --since 1h\n  \
        cargo intake --local signals list --account dev customer-17 --follow"
    )]
    List(ListSignals),

    /// Erase the signals of one type that an account sent in a period; this reads the whole table
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod signals erase --account shop --type card_entered --since 2026-11-20 \
        --until 2026-11-22 --dry-run\n  cargo intake --stack intake-prod signals erase --account shop --type card_entered \
        --since 2026-11-20 --until 1h\n\n\
        The period ends now at the latest. \
        Rejected signals of the type are erased too. Stop the client first, such as by `keys revoke`: a retry stores its signals \
        again. The command refuses to run while the overflow queue or its dead-letter queue has messages, because their data \
        would be stored after the erasure. After an interruption, run it again: it erases what is left. Backups are not \
        changed, and the lake only by `lake erase`."
    )]
    Erase(EraseSignals),
}

impl SignalsCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::List(list) => list.run(stack, format).await,
            Self::Erase(erase) => erase.run(stack, format).await,
        }
    }
}
