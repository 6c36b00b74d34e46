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

use super::id::RejectedSignalId;
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
    let rows = Table::with_heading(["ID", "CODE", "MESSAGE"]);
    let mut run = Run { rejected, signals, table, args, format, rows, outcomes: HashMap::new() };
    if let Some(file) = &args.from {
        for edited in edited::read(file)? {
            run.redrive_one(&edited.id, Some(edited.payload.get())).await?;
        }
    } else if !args.ids.is_empty() {
        for id in &args.ids {
            run.redrive_one(id, None).await?;
        }
    } else {
        let since = args.since.unwrap_or(Timestamp::from_millis(0));
        for day in days(since) {
            let mut signals = rejected.of_day(&args.account, &day, since).await?;
            signals.retain(|signal| args.code.as_ref().is_none_or(|code| signal.has_code(code)));
            run.redrive(&signals).await?;
        }
    }
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
    /// How many signals had which outcome: `accepted`, `rejected`, `expired` or `missing`.
    outcomes: HashMap<&'static str, usize>,
}

impl Run<'_> {
    /// Redrives the signal with this id, with this payload if there is one.
    async fn redrive_one(&mut self, id: &RejectedSignalId, payload: Option<&str>) -> Result<()> {
        let Some(mut signal) = self.rejected.find(&self.args.account, id).await? else {
            note(&not_found(&self.args.account, id));
            return self.report(id, "missing", &[]);
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
        for signal in &expired {
            self.report(&signal.id, EXPIRED, &[])?;
        }
        let has_rows = !expired.is_empty() || errors.iter().any(|errors| !errors.is_empty());
        if has_rows && self.format == Format::Table { self.rows.print() } else { Ok(()) }
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
        let count = self.outcomes.entry(outcome).or_default();
        *count += 1;
        let id = id.to_string();
        if self.format == Format::Json {
            let dry_run = self.args.dry_run;
            return print_json(&json!({"id": id, "outcome": outcome, "dryRun": dry_run, "errors": errors}));
        }
        if let Some(error) = errors.first() {
            self.rows.row([&id, error.code.as_str(), &error.message]);
        } else if outcome == EXPIRED {
            self.rows.row([&id, outcome, "would already be expired"]);
        }
        Ok(())
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
