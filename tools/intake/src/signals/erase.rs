//! `signals erase`: erases the signals of one type that an account sent in one period.

use anyhow::{Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use crate::confirm::confirm_by_name;
use crate::erasure::{DoubtfulArgs, Erasure, ErasureArgs, ErasureScope, Wait};
use crate::output::Format;
use crate::stack::Stack;
use crate::time_args::time_or_age;

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
    pub(super) async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
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
