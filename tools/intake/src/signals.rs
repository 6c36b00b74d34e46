//! `signals`: did my signal arrive?

mod history;

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::history::History;
use crate::interrupt::until_interrupted;
use crate::output::{Format, note};
use crate::stack::Stack;
use crate::time_args::timestamp;

/// How many signals are listed unless the operator asks for another number.
const DEFAULT_LIMIT: usize = 50;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the newest signals of a customer or an emitter, oldest first
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod signals list --account shop customer-17 --since 1h\n  \
        cargo intake --local signals list --account dev customer-17 --follow"
    )]
    List(List),
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::List(list) => list.run(stack, format).await,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The customerId or emitterId, as the client sent it
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    subject_id: String,

    /// Only signals received at or after this time, such as 1h (ago) or 2026-11-20T22:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    since: Option<Timestamp>,

    /// Only signals received before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp, conflicts_with = "follow")]
    until: Option<Timestamp>,

    /// Only the newest N signals [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,

    /// All signals
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Continue with the signals that arrive from now on, until Ctrl-C
    #[arg(long)]
    follow: bool,
}

impl List {
    async fn run(&self, stack: &Stack, format: Format) -> Result<()> {
        let Self { account, subject_id, .. } = self;
        let mut history = History::new(stack, account, subject_id, format)?;
        let begin = Timestamp::now();
        // Alone, --follow lists only what is new.
        if !self.follow || self.since.is_some() || self.limit.is_some() || self.all {
            let until = if self.follow { Some(begin) } else { self.until };
            let limit = if self.all { None } else { Some(self.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get)) };
            if history.list(self.since, until, limit).await? {
                let shown = history.count;
                note(&format!("There are older ones: only the newest {shown} are shown. Use --limit N or --all."));
            }
        }
        if self.follow {
            note(&format!("Waiting for signals of {subject_id:?} in the account {account}. Ctrl-C ends it."));
            return until_interrupted(history.follow(begin)).await.map(drop);
        }
        if history.count == 0 {
            note(&format!("No such signals of {subject_id:?} in the account {account}."));
        }
        Ok(())
    }
}
