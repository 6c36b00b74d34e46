//! `rejected`: the signals that the service rejected, why, and their redrive.

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
use model::timestamp::Timestamp;
use model::validation::FieldErrorCode;

use self::id::IdArgument;
pub(crate) use self::table::RejectedTable;
use crate::output::Format;
use crate::stack::Stack;
use crate::time_args::timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List rejected signals with their errors
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected list --account shop --since 7d --code required\n  \
        cargo intake --stack intake-prod rejected list --account shop --json > rejected.ndjson"
    )]
    List(List),

    /// Show one rejected signal with all its errors and its payload
    #[command(after_help = "Example:\n  cargo intake --stack intake-prod rejected show --account shop \
        2026-11-20-07-3fa85f64-3")]
    Show {
        /// The account
        #[arg(long, value_name = "NAME")]
        account: AccountId,

        /// The id, from `rejected list`
        #[arg(value_name = "ID")]
        id: IdArgument,
    },

    /// Parse and store rejected signals again; those that are stored are no longer rejected
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected redrive --account shop --code required --dry-run\n  \
        cargo intake --stack intake-prod rejected redrive --account shop --from rejected.ndjson\n\n\
        A signal keeps the time at which it first arrived; one that would already be expired is left where it is. FILE has \
        lines of `rejected list --json`, with edited payloads."
    )]
    Redrive(Redrive),
}

/// The default of `--since`, for `list` and `redrive` alike: all that are kept.
const ALL: &str = "1970-01-01";

#[derive(Args, Debug)]
pub(crate) struct List {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all that are kept]
    #[arg(long, value_name = "TIME", default_value = ALL, hide_default_value = true, value_parser = timestamp)]
    since: Timestamp,

    /// Only signals with an error of this code, such as required
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Redrive {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only these signals, by their ids from `rejected list` [default: those since TIME]
    #[arg(value_name = "ID", conflicts_with_all = ["since", "code", "from"])]
    ids: Vec<IdArgument>,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all that are kept]
    #[arg(long, value_name = "TIME", default_value = ALL, hide_default_value = true, value_parser = timestamp)]
    since: Timestamp,

    /// Only signals with an error of this code, such as required
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: Option<String>,

    /// The signals of this file, with the payloads that the file has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "code"])]
    from: Option<PathBuf>,

    /// Only print which signals would be accepted
    #[arg(long)]
    dry_run: bool,
}

impl Command {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let rejected = RejectedTable::new(stack)?;
        match self {
            Self::List(list) => list::list(&rejected, &list, format).await,
            Self::Show { account, id } => list::show(&rejected, &account, &id, format).await,
            Self::Redrive(redrive) => redrive::redrive(stack, &rejected, &redrive, format).await,
        }
    }
}

fn code(text: &str) -> Result<String, String> {
    let known: Vec<_> = FieldErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    if known.contains(&text) { Ok(text.to_owned()) } else { Err(format!("the codes are {}", known.join(", "))) }
}
