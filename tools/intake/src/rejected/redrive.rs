//! `rejected redrive`: parses and stores rejected signals as if they had been valid at first.
//!
//! A signal is deleted from the rejected ones only after it is stored, and always stored under the same key: after an
//! interruption, run the command again.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::deadline::Deadline;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use model::validation::{FieldError, FieldErrorCode};
use serde_json::json;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

use super::id::{IdArgument, RejectedSignalId};
use super::list::not_found;
use super::rejected_signal::RejectedSignal;
use super::table::{RejectedTable, days};
use super::{Redrive, edited};
use crate::error::store_error;
use crate::output::{Format, Table, note, print_json, print_line};
use crate::stack::{SIGNALS, Stack, WRITE_TIMEOUT};

/// How many signals are stored at once.
const CONCURRENT_SIGNALS: usize = 16;

/// The outcome of a signal whose retention has passed since it was received: DynamoDB would delete it at once.
const EXPIRED: &str = "expired";

pub(super) async fn redrive(stack: &Stack, rejected: &RejectedTable<'_>, args: &Redrive, format: Format) -> Result<()> {
    let table = stack.table(SIGNALS)?;
    let signals = SignalsTable::new(stack.client.clone(), table, stack.retention()?);
    let rows = Table::with_heading(["CODE", "ID", "MESSAGE"]).cut_to_terminal();
    let mut run = Run { rejected, signals, table, args, format, rows, has_rows: false, outcomes: HashMap::new() };
    let redriven = run.redrive_all().await;
    // Also after an error, and all at once: rows of a day would break into the progress bar.
    if run.has_rows {
        run.rows.print()?;
    }
    redriven?;
    run.finish()
}

struct Run<'a> {
    rejected: &'a RejectedTable<'a>,
    signals: SignalsTable,
    /// The name of the table of `signals`.
    table: &'a str,
    args: &'a Redrive,
    format: Format,
    rows: Table,
    has_rows: bool,
    /// How many signals had which outcome: `accepted`, `rejected`, `expired` or `missing`.
    outcomes: HashMap<&'static str, usize>,
}

impl Run<'_> {
    async fn redrive_all(&mut self) -> Result<()> {
        let args = self.args;
        if let Some(file) = &args.from {
            for edited in edited::read(file)? {
                self.redrive_one(&IdArgument::Whole(edited.id), Some(edited.payload.get())).await?;
            }
        } else if !args.ids.is_empty() {
            for id in &args.ids {
                self.redrive_one(id, None).await?;
            }
        } else {
            for day in days(args.since) {
                let mut signals = self.rejected.of_day(&args.account, &day, args.since).await?;
                signals.retain(|signal| args.code.as_ref().is_none_or(|code| signal.has_code(code)));
                self.redrive(&signals).await?;
            }
        }
        Ok(())
    }

    /// Redrives the signal with this id, with this payload if there is one.
    async fn redrive_one(&mut self, id: &IdArgument, payload: Option<&str>) -> Result<()> {
        let Some(mut signal) = self.rejected.resolve(&self.args.account, id).await? else {
            note(&not_found(&self.args.account, id));
            self.count("missing");
            return if self.format == Format::Json { self.print(&id.to_string(), "missing", &[]) } else { Ok(()) };
        };
        signal.payload = payload.map_or(signal.payload, ToOwned::to_owned);
        self.redrive(&[signal]).await
    }

    async fn redrive(&mut self, rejected: &[RejectedSignal]) -> Result<()> {
        // They stay where they are, until they expire there too.
        let now = Timestamp::now();
        let is_expired = |signal: &&RejectedSignal| self.signals.has_expired(signal.received_at, now);
        let (expired, rejected): (Vec<_>, Vec<_>) = rejected.iter().partition(is_expired);
        let stored: Vec<_> = rejected.iter().map(|signal| self.store(signal)).collect();
        let errors: Vec<_> = stream::iter(stored).buffered(CONCURRENT_SIGNALS).try_collect().await?;
        let outcomes = || rejected.iter().zip(&errors);
        if !self.args.dry_run {
            let stored = outcomes().filter(|(_, errors)| errors.is_empty());
            let keys: Vec<_> = stored.map(|(signal, _)| signal.id.key(&self.args.account)).collect();
            self.rejected.delete(&keys).await?;
        }
        for (signal, errors) in outcomes() {
            self.report(&signal.id, if errors.is_empty() { "accepted" } else { "rejected" }, errors)?;
        }
        expired.iter().try_for_each(|signal| self.report(&signal.id, EXPIRED, &[]))
    }

    /// Stores a signal, except in a dry run; returns what is wrong with it.
    async fn store(&self, rejected: &RejectedSignal) -> Result<Vec<FieldError>> {
        let signal = match parse(rejected) {
            Ok(signal) => signal,
            Err(errors) => return Ok(errors),
        };
        if self.args.dry_run {
            return Ok(Vec::new());
        }
        let context =
            BatchContext::without_request(&self.args.account, &rejected.request_identifier, rejected.received_at);
        let put = self.signals.put(context, &[signal], Deadline::after(WRITE_TIMEOUT)).await;
        let refused = put.map_err(|unstored| store_error(self.table, &unstored.error))?;
        Ok(refused.into_iter().map(|_| FieldError::refused_by_store(&JsonPointer::Root)).collect())
    }

    fn report(&mut self, id: &RejectedSignalId, outcome: &'static str, errors: &[FieldError]) -> Result<()> {
        self.count(outcome);
        if self.format == Format::Json {
            return self.print(&id.to_string(), outcome, errors);
        }
        let reason = match (errors.first(), outcome) {
            (Some(error), _) => (error.code.as_str(), error.message.as_str()),
            (None, EXPIRED) => (EXPIRED, "would already be expired"),
            (None, _) => return Ok(()),
        };
        self.rows.row([reason.0, &id.short(), reason.1]);
        self.has_rows = true;
        Ok(())
    }

    fn count(&mut self, outcome: &'static str) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    fn print(&self, id: &str, outcome: &str, errors: &[FieldError]) -> Result<()> {
        print_json(&json!({"id": id, "outcome": outcome, "dryRun": self.args.dry_run, "errors": errors}))
    }

    fn finish(self) -> Result<()> {
        let count = |outcome| self.outcomes.get(outcome).copied().unwrap_or_default();
        let (accepted, rejected, missing) = (count("accepted"), count("rejected"), count("missing"));
        if self.format == Format::Table {
            let verb = if self.args.dry_run { "would be accepted" } else { "accepted" };
            let expired = match count(EXPIRED) {
                0 => String::new(),
                expired => format!(", {expired} would already be expired"),
            };
            print_line(&format!("{accepted} {verb}, {rejected} still rejected, {missing} not found{expired}."))?;
        }
        ensure!(missing == 0, "{missing} of the rejected signals do not exist.");
        Ok(())
    }
}

fn parse(signal: &RejectedSignal) -> Result<Signal<'_>, Vec<FieldError>> {
    let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
    let path = JsonPointer::Element(&signals, signal.index);
    match JsonText::parse(&signal.payload) {
        Ok(text) => Signal::parse(text, signal.index, &path).map_err(|rejected| rejected.errors),
        Err(_) => Err(vec![FieldError::new(&path, FieldErrorCode::TooLarge, "was truncated: redrive it from a file")]),
    }
}
