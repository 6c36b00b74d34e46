//! `rejected`: what was refused, why, and a second chance for it.

mod edited;
mod id;
mod list;
mod redrive;
mod rejected_signal;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::fault::FaultCode;
use model::timestamp::Timestamp;

use self::id::RejectedSignalId;
pub(crate) use self::table::RejectedSignals;
use crate::output::Format;
use crate::stack::StackArgs;
use crate::time_args::timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List rejected signals with their reasons
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected list --account shop --since 7d --code required\n  \
        cargo intake --stack intake-prod rejected list --account shop --json > rejected.ndjson"
    )]
    List(List),

    /// Show one with all that is known of it
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod rejected show --account shop \
        '2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#0003#00ff00ff00ff00ff'")]
    Show {
        /// Whose signal
        #[arg(long, value_name = "NAME")]
        account: AccountId,

        /// Which one, as `rejected list` names it
        #[arg(value_name = "ID")]
        id: RejectedSignalId,
    },

    /// Send rejected signals through the parser and into the table again; those that pass are rejected no more
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected redrive --account shop --code required --dry-run\n  \
        cargo intake --stack intake-prod rejected redrive --account shop --from rejected.ndjson\n\n\
        A signal keeps the time of its first arrival. FILE has the lines of `rejected list --json`, with the payloads \
        edited."
    )]
    Redrive(Redrive),
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Whose signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only those that arrived at or after this time, such as 6h (ago) or 2026-11-20
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = timestamp)]
    since: Timestamp,

    /// Only those with a error of this code
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Redrive {
    /// Whose signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only these, as `rejected list` names them [default: all that are kept]
    #[arg(value_name = "ID", conflicts_with_all = ["since", "code", "from"])]
    ids: Vec<RejectedSignalId>,

    /// Only those that arrived at or after this time
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    since: Option<Timestamp>,

    /// Only those with a error of this code
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<String>,

    /// Those of this file, with their payloads as they stand there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "code"])]
    from: Option<PathBuf>,

    /// Only say what would pass
    #[arg(long)]
    dry_run: bool,
}

impl Command {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let stack = stack_args.connect().await?;
        let rejected = RejectedSignals::of(&stack)?;
        match self {
            Self::List(list) => list::list(&rejected, &list, format).await,
            Self::Show { account, id } => list::show(&rejected, &account, &id, format).await,
            Self::Redrive(redrive) => redrive::redrive(&stack, &rejected, &redrive, format).await,
        }
    }
}

fn code(text: &str) -> Result<String, String> {
    let known = FaultCode::ALL.map(FaultCode::as_str);
    if known.contains(&text) { Ok(text.to_owned()) } else { Err(format!("the codes are {}", known.join(", "))) }
}
