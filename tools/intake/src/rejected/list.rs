//! `rejected list` and `rejected show`.

use std::fmt::Display;

use anyhow::{Context as _, Result};
use model::account::AccountId;

use super::List;
use super::id::IdArgument;
use super::table::{RejectedTable, days};
use crate::keys::unknown_account_hint;
use crate::output::{Format, Table, note, print_json};

pub(super) async fn list(rejected: &RejectedTable<'_>, list: &List, format: Format) -> Result<()> {
    let List { account, since, code } = list;
    let mut table = Table::with_heading(["RECEIVED", "CODE", "ID", "SUBJECT ID", "MESSAGE"]).cut_to_terminal();
    let mut is_empty = true;
    for day in days(*since) {
        let mut signals = rejected.of_day(account, &day, *since).await?;
        signals.retain(|signal| code.as_ref().is_none_or(|code| signal.has_code(code)));
        for signal in &signals {
            is_empty = false;
            if format == Format::Json {
                print_json(signal)?;
                continue;
            }
            // The first error only: `rejected show` has all of them.
            let (code, message) = signal.errors.first().map_or(("", ""), |error| (error.code.as_str(), &error.message));
            let subject_id = signal.subject_id.as_deref().unwrap_or("-");
            table.row([&signal.received_at.to_string(), code, &signal.id.short(), subject_id, message]);
        }
    }
    if is_empty {
        let hint = unknown_account_hint(rejected.stack, account).await;
        note(&format!("No such rejected signals in the account {account}.{hint}"));
        return Ok(());
    }
    // All days at once: rows of a day would break into the progress bar.
    if format == Format::Table { table.print() } else { Ok(()) }
}

pub(super) async fn show(
    rejected: &RejectedTable<'_>,
    account: &AccountId,
    id: &IdArgument,
    format: Format,
) -> Result<()> {
    let signal = rejected.resolve(account, id).await?.with_context(|| not_found(account, id))?;
    if format == Format::Json {
        return print_json(&signal);
    }
    let mut table = Table::with_names();
    table.row(["id", &signal.id.to_string()]);
    table.row(["received", &signal.received_at.to_string()]);
    table.row(["request", signal.request_identifier.as_sent()]);
    table.row(["index", &signal.index.to_string()]);
    table.row(["key", &signal.key_id]);
    table.row(["subjectId", signal.subject_id.as_deref().unwrap_or("-")]);
    for error in &signal.errors {
        table.row([error.code.as_str(), &error.message]);
    }
    table.row([if signal.truncated { "payload (truncated)" } else { "payload" }, &signal.payload]);
    table.print()
}

pub(super) fn not_found(account: &AccountId, id: &impl Display) -> String {
    format!("The account {account} has no rejected signal {id}. It was redriven, erased or has expired.")
}
