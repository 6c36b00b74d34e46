//! `signals`: lists the signals of one customer or emitter, or erases the signals of one type.

mod list;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::list::ListSignals;
use crate::confirm::confirm_by_name;
use crate::erasure::{DoubtfulArgs, Erasure, ErasureArgs, ErasureScope, Wait};
use crate::output::Format;
use crate::stack::Stack;
use crate::time_args::time_or_age;

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

// Deletes the signals of one type that an account sent in one period, for a client that sent what it must
// not. The table has no index by type, so the command reads all of it: once to count, once to delete.
#[derive(Args, Debug)]
pub(crate) struct EraseSignals {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The eventType or the stepNodeId, as the client sent it
    #[arg(long = "type", value_name = "TYPE", allow_hyphen_values = true)]
    signal_type: String,

    /// Only signals received at or after this time, such as 7d (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    since: Timestamp,

    /// Only signals received before this time, which is not in the future
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    until: Timestamp,

    #[command(flatten)]
    doubtful: DoubtfulArgs,

    #[command(flatten)]
    erasure: ErasureArgs,
}

impl EraseSignals {
    async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self {
            account,
            signal_type,
            since,
            until,
            doubtful,
            erasure: options,
        } = self;
        ensure!(since < until, "--since must be before --until.");
        ensure!(
            *until <= Timestamp::now(),
            "--until must not be in the future: signals that arrive after the erasure would not be erased."
        );
        let scope = ErasureScope::Type {
            signal_type,
            since: *since,
            until: *until,
        };
        let erasure = Erasure::new(stack, account, scope, options, &doubtful.ids);
        let confirm = |question: &str| confirm_by_name(question, signal_type, options.yes);
        let wait = || Wait::for_requests_before(*until, " --until");
        erasure.run(confirm, wait, format).await
    }
}
