//! `rejected list`.

use anyhow::Result;
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use super::table::{RejectedTable, days};
use crate::output::{Format, Table, note};
use crate::time_args::timestamp;

#[derive(Args, Debug)]
pub(crate) struct List {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = timestamp)]
    since: Timestamp,
}

impl List {
    pub(super) async fn run(&self, rejected: &RejectedTable<'_>, format: Format) -> Result<()> {
        let Self { account, since } = self;
        let mut table = Table::new(format, ["RECEIVED", "CODE", "ID", "SUBJECT ID", "MESSAGE"]).cut_to_terminal();
        let mut is_empty = true;
        for day in days(*since, Timestamp::now()) {
            for signal in &rejected.of_day(account, &day, *since).await? {
                is_empty = false;
                // The first error only: --json has all of them.
                let (code, message) =
                    signal.errors.first().map_or(("", ""), |error| (error.code.as_str(), &error.message));
                let subject_id = signal.subject_id.as_deref().unwrap_or("-");
                table.add(signal, [&signal.received_at.to_string(), code, &signal.id.short(), subject_id, message])?;
                table.print()?;
            }
        }
        if is_empty {
            note(&format!("No such rejected signals in the account {account}."));
        }
        Ok(())
    }
}
