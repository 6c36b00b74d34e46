//! What was rejected, for people and for programs.

use anyhow::{Result, bail};
use model::account::AccountId;
use serde::Serialize;
use serde_json::value::RawValue;

use super::List;
use super::id::RejectedSignalId;
use super::rejected_signal::{RejectedSignal, StoredError};
use super::table::RejectedSignals;
use crate::output::{Format, Table, json, note};
use crate::time_args::format_utc;

pub(super) async fn list(rejected: &RejectedSignals<'_>, list: &List, format: Format) -> Result<()> {
    let mut table = Table::with_heading(["ID", "RECEIVED", "SUBJECT ID", "CODE", "REASON"]);
    let mut listed = 0_usize;
    rejected
        .since(&list.account, list.since, async |mut found: Vec<RejectedSignal>| {
            found.retain(|signal| list.code.as_ref().is_none_or(|code| signal.has_code(code)));
            listed = listed.saturating_add(found.len());
            match format {
                Format::Json => found.iter().try_for_each(|signal| json(&RejectedSignalRow::of(signal))),
                Format::Table => {
                    for signal in &found {
                        add(&mut table, signal);
                    }
                    table.print()
                }
            }
        })
        .await?;
    if listed == 0 {
        note(&format!("Nothing was rejected in the account {} since {} UTC.", list.account, format_utc(list.since)));
    }
    Ok(())
}

/// The first error stands for all: `rejected show` has the others.
fn add(table: &mut Table, signal: &RejectedSignal) {
    let first = signal.errors.first();
    let (code, message) = first.map_or(("", ""), |error| (&error.code, &error.message));
    let subject_id = signal.subject_id.as_deref().unwrap_or("-");
    table.row([&signal.id.to_string(), &format_utc(signal.received_at), subject_id, code, message]);
}

pub(super) async fn show(
    rejected: &RejectedSignals<'_>,
    account: &AccountId,
    id: &RejectedSignalId,
    format: Format,
) -> Result<()> {
    let Some(signal) = rejected.find(account, id).await? else {
        bail!(
            "The account {account} has no rejected signal {id}: it was redriven, erased or has expired, or is another's."
        );
    };
    if format.is_json() {
        return json(&RejectedSignalRow::of(&signal));
    }
    let mut table = Table::of_members();
    table.row(["id", &signal.id.to_string()]);
    table.row(["received", &format_utc(signal.received_at)]);
    table.row(["request", signal.request_identifier.as_sent()]);
    table.row(["index", &signal.index.to_string()]);
    table.row(["key", &signal.key_id]);
    table.row(["subjectId", signal.subject_id.as_deref().unwrap_or("-")]);
    for error in &signal.errors {
        table.row([&error.code, &error.message]);
    }
    table.row([if signal.truncated { "payload (cut off)" } else { "payload" }, &signal.payload]);
    table.print()
}

/// A line of `rejected list --json`, and of the file that `rejected redrive --from` reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectedSignalRow<'a> {
    id: String,
    received_at: String,
    request_identifier: &'a str,
    index: usize,
    key_id: &'a str,
    subject_id: Option<&'a str>,
    errors: &'a [StoredError],
    truncated: bool,
    payload: Box<RawValue>,
}

impl<'a> RejectedSignalRow<'a> {
    fn of(signal: &'a RejectedSignal) -> Self {
        Self {
            id: signal.id.to_string(),
            received_at: signal.received_at.to_string(),
            request_identifier: signal.request_identifier.as_sent(),
            index: signal.index,
            key_id: &signal.key_id,
            subject_id: signal.subject_id.as_deref(),
            errors: &signal.errors,
            truncated: signal.truncated,
            payload: signal.payload_line(),
        }
    }
}
