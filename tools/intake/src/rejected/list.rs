//! `rejected list`: the rejected signals of an account, day by day. Must not know how a signal is
//! redriven.

use anyhow::Result;
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::rejected::{RejectedSignal, RejectedTable, days};

use crate::output::{Format, PrintedTable, note};
use crate::time_args::time_or_age;

#[derive(Args, Debug)]
pub(crate) struct ListRejected {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = time_or_age)]
    since: Timestamp,
}

impl ListRejected {
    pub(super) async fn run(&self, rejected_table: &RejectedTable, format: Format) -> Result<()> {
        let account = &self.account;
        let heading = ["RECEIVED", "CODE", "ID", "SUBJECT ID", "MESSAGE"];
        let mut rows = PrintedTable::new(format, heading).cut_to_terminal();
        let mut is_empty = true;
        for day in days(self.since, Timestamp::now()) {
            let signals = rejected_table.read_day(account, &day, self.since).await?;
            if signals.is_empty() {
                continue;
            }
            is_empty = false;
            for signal in &signals {
                add_row(&mut rows, signal)?;
            }
            // The rows of a day are printed together, so that their columns are equally wide.
            rows.print()?;
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
fn add_row(rows: &mut PrintedTable, signal: &RejectedSignal) -> Result<()> {
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
    rows.add(signal, cells)
}
