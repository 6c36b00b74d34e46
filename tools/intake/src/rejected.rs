//! `rejected`: lists the signals that the service rejected, and redrives them.

mod redrive;
mod rejected_signal;
mod rejected_table;

use anyhow::Result;
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::redrive::Redrive;
use self::rejected_signal::RejectedSignal;
pub(crate) use self::rejected_table::RejectedTable;
use self::rejected_table::days;
use crate::output::{Format, PrintedTable, note};
use crate::stack::Stack;
use crate::time_args::timestamp;

#[derive(Debug, Subcommand)]
pub(crate) enum RejectedCommand {
    /// List rejected signals with their errors; with --json also their payloads
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
    Redrive(Redrive),
}

impl RejectedCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let rejected = RejectedTable::new(stack)?;
        match self {
            Self::List(list) => list.run(&rejected, format).await,
            Self::Redrive(redrive) => redrive.run(&rejected, format).await,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ListRejected {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = timestamp)]
    since: Timestamp,
}

impl ListRejected {
    async fn run(&self, rejected: &RejectedTable<'_>, format: Format) -> Result<()> {
        let account = &self.account;
        let heading = ["RECEIVED", "CODE", "ID", "SUBJECT ID", "MESSAGE"];
        let mut table = PrintedTable::new(format, heading).cut_to_terminal();
        let mut is_empty = true;
        for day in days(self.since, Timestamp::now()) {
            let signals = rejected.read_day(account, &day, self.since).await?;
            if signals.is_empty() {
                continue;
            }
            is_empty = false;
            for signal in &signals {
                add_row(&mut table, signal)?;
            }
            // The rows of a day are printed together, so that their columns are equally wide.
            table.print()?;
        }
        if is_empty {
            note(&format!(
                "No such rejected signals in the account {account}."
            ));
        }
        Ok(())
    }
}

/// Adds a signal with its first error. Only its JSON has all of them.
fn add_row(table: &mut PrintedTable, signal: &RejectedSignal) -> Result<()> {
    let error = signal.errors.first();
    let code = error.map_or("", |error| error.code.as_str());
    let message = error.map_or("", |error| error.message.as_str());
    let cells = [
        &signal.received_at.to_string(),
        code,
        &signal.id.short(),
        signal.subject_id.as_deref().unwrap_or("-"),
        message,
    ];
    table.add(signal, cells)
}
