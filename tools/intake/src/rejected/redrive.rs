//! `rejected redrive`: parses and stores rejected signals as if they had been valid at first.
//!
//! A signal is deleted from the rejected ones only after it is stored, and always stored under the
//! same key: after an interruption, run the command again.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use aws::deadline::Deadline;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::account::AccountId;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use model::validation::{FieldError, FieldErrorCode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

use super::rejected_signal::RejectedSignalId;
use super::table::{RejectedTable, days};
use crate::error::store_error;
use crate::items::{query_items, text as text_of};
use crate::output::{Format, Table, print_line};
use crate::stack::{Item, SIGNALS, Stack, WRITE_TIMEOUT};
use crate::time_args::timestamp;

/// How many signals are stored at once.
const CONCURRENT_SIGNALS: usize = 16;

#[derive(Args, Debug)]
pub(crate) struct Redrive {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only print which signals would be accepted
    #[arg(long)]
    dry_run: bool,

    /// Redrive the signals of this file, with the payloads that it has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "ids"])]
    from: Option<PathBuf>,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = timestamp)]
    since: Timestamp,

    /// Only signals with these ids, as `rejected list` shows them [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

/// What became of a signal.
enum Outcome {
    /// It is stored, by this run or an earlier one.
    Accepted,
    /// It still breaks these rules.
    Rejected(Vec<FieldError>),
    /// It arrived longer ago than signals are kept: DynamoDB would delete it at once.
    Expired,
    /// No rejected signal has its id: it was redriven or erased, or has expired.
    Missing,
}

impl Outcome {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected(_) => "rejected",
            Self::Expired => "expired",
            Self::Missing => "missing",
        }
    }
}

impl Redrive {
    pub(super) async fn run(&self, rejected: &RejectedTable<'_>, format: Format) -> Result<()> {
        let mut report = Report {
            format,
            dry_run: self.dry_run,
            rows: Table::new(format, ["OUTCOME", "ID", "MESSAGE"]),
            counts: BTreeMap::new(),
            printed: Ok(()),
        };
        if let Some(file) = &self.from {
            self.redrive_all(rejected, read_edited(file)?, &mut report)
                .await?;
        } else {
            self.redrive_kept(rejected, &mut report).await?;
        }
        report.finish()
    }

    /// Redrives signals as they were sent: they may have become valid since.
    async fn redrive_kept(&self, rejected: &RejectedTable<'_>, report: &mut Report) -> Result<()> {
        let mut missing: HashSet<&str> = self.ids.iter().map(String::as_str).collect();
        for day in days(self.since, Timestamp::now()) {
            let mut signals = rejected.of_day(&self.account, &day, self.since).await?;
            if !self.ids.is_empty() {
                signals.retain(|signal| {
                    let names = [signal.id.to_string(), signal.id.short()];
                    missing.retain(|id| !names.iter().any(|name| name == id));
                    names.iter().any(|name| self.ids.contains(name))
                });
            }
            let signals = signals
                .into_iter()
                .map(|signal| (signal.id, signal.payload));
            self.redrive_all(rejected, signals.collect(), report)
                .await?;
        }
        for id in missing {
            report.add(id, &Outcome::Missing);
        }
        Ok(())
    }

    async fn redrive_all(
        &self,
        rejected: &RejectedTable<'_>,
        signals: Vec<(RejectedSignalId, String)>,
        report: &mut Report,
    ) -> Result<()> {
        let work: Vec<_> = signals
            .iter()
            .map(|(id, payload)| self.redrive(rejected, id, payload))
            .collect();
        let mut outcomes =
            stream::iter(&signals).zip(stream::iter(work).buffered(CONCURRENT_SIGNALS));
        while let Some(((id, _), outcome)) = outcomes.next().await {
            let id = if report.format == Format::Json {
                id.to_string()
            } else {
                id.short()
            };
            report.add(&id, &outcome?);
        }
        Ok(())
    }

    async fn redrive(
        &self,
        rejected: &RejectedTable<'_>,
        id: &RejectedSignalId,
        payload: &str,
    ) -> Result<Outcome> {
        let stack = rejected.stack;
        let signals = SignalsTable::new(
            stack.client.clone(),
            stack.table(SIGNALS)?,
            stack.retention()?,
        );
        let Some(found) = rejected.find(&self.account, id).await? else {
            let is_stored = self.is_stored(stack, id, payload).await?;
            return Ok(if is_stored {
                Outcome::Accepted
            } else {
                Outcome::Missing
            });
        };
        if signals
            .expires_at(found.received_at)
            .is_some_and(|end| end <= Timestamp::now())
        {
            return Ok(Outcome::Expired);
        }
        let all = JsonPointer::Member(&JsonPointer::Root, "signals");
        let path = JsonPointer::Element(&all, found.index);
        let Ok(text) = JsonText::parse(payload) else {
            let error = FieldError::new(
                &path,
                FieldErrorCode::TooLarge,
                "was truncated: redrive it from a file",
            );
            return Ok(Outcome::Rejected(vec![error]));
        };
        let signal = match Signal::parse(text.value(), found.index, &path) {
            Ok(signal) => signal,
            Err(rejected) => return Ok(Outcome::Rejected(rejected.errors)),
        };
        if self.dry_run {
            return Ok(Outcome::Accepted);
        }
        let context = BatchContext {
            account_id: &self.account,
            key_id: "",
            request_identifier: &found.request_identifier,
            received_at: found.received_at,
            request_id: "",
        };
        let stored = signals
            .store(context, &[signal], Deadline::after(WRITE_TIMEOUT))
            .await;
        for outcome in stored {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Invalid => {
                    let error = FieldError::refused_by_store(&JsonPointer::Root);
                    return Ok(Outcome::Rejected(vec![error]));
                }
                ItemOutcome::Unacknowledged(error) => {
                    return Err(store_error(stack.table(SIGNALS)?, &error));
                }
            }
        }
        rejected.delete(&[id.key(&self.account)]).await?;
        Ok(Outcome::Accepted)
    }

    /// Whether an earlier run has stored this signal, which is no rejected one any more.
    async fn is_stored(&self, stack: &Stack, id: &RejectedSignalId, payload: &str) -> Result<bool> {
        let Ok(text) = JsonText::parse(payload) else {
            return Ok(false);
        };
        let Ok(signal) = Signal::parse(text.value(), 0, &JsonPointer::Root) else {
            return Ok(false);
        };
        let (table, (day, end)) = (stack.table(SIGNALS)?, id.ends_of_sort_key());
        let query = stack
            .query(table, self.account.partition_key(signal.subject_id()))
            .key_condition_expression("pk = :pk AND begins_with(sk, :day)")
            .expression_attribute_values(":day", AttributeValue::S(day.to_owned()))
            .projection_expression("sk");
        let is_it = |item: Item| text_of(&item, "sk").is_some_and(|key| key.ends_with(end));
        query_items(query).try_any(async |item| is_it(item)).await
    }
}

/// A line of the file of `--from`: a rejected signal, and what is to be stored in its place.
#[derive(Deserialize)]
struct Edited {
    id: RejectedSignalId,
    payload: Box<RawValue>,
}

/// Reads the whole file: an operator edited it, so it fits into memory, and an invalid line must
/// stop the redrive before it begins.
fn read_edited(file: &Path) -> Result<Vec<(RejectedSignalId, String)>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("Cannot read {name}"))?;
    let mut ids = HashSet::new();
    let lines = (1_usize..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let edited: Edited = serde_json::from_str(line).with_context(|| {
            format!("Line {number} of {name} is not a line of `rejected list --json`")
        })?;
        ensure!(
            ids.insert(edited.id.clone()),
            "Line {number} of {name} repeats the id of an earlier line: {}.",
            edited.id
        );
        Ok((edited.id, Box::<str>::from(edited.payload).into()))
    };
    lines.map(parse).collect()
}

/// What is printed of the outcomes.
struct Report {
    format: Format,
    dry_run: bool,
    rows: Table,
    counts: BTreeMap<&'static str, usize>,
    /// After an error, nothing more is printed, and the signals that are left are redriven all the
    /// same.
    printed: Result<()>,
}

impl Report {
    fn add(&mut self, id: &str, outcome: &Outcome) {
        let name = outcome.as_str();
        *self.counts.entry(name).or_default() += 1;
        let errors = if let Outcome::Rejected(errors) = outcome {
            errors.as_slice()
        } else {
            &[]
        };
        if self.printed.is_err() || self.format == Format::Table && name == "accepted" {
            return;
        }
        let json = json!({"id": id, "outcome": name, "dryRun": self.dry_run, "errors": errors});
        let added = self.rows.add(
            &json,
            [name, id, errors.first().map_or("", |error| &error.message)],
        );
        self.printed = added.and_then(|()| self.rows.print());
    }

    fn finish(self) -> Result<()> {
        let [accepted, rejected, expired, missing] = ["accepted", "rejected", "expired", "missing"]
            .map(|outcome| self.counts.get(outcome).copied().unwrap_or_default());
        let verb = if self.dry_run {
            "would be accepted"
        } else {
            "accepted"
        };
        if self.format == Format::Table {
            print_line(&format!(
                "{accepted} {verb}, {rejected} still rejected, {expired} would already be expired, {missing} not found."
            ))?;
        }
        ensure!(
            missing == 0,
            "{missing} of the rejected signals do not exist."
        );
        ensure!(
            accepted > 0 || rejected + expired == 0,
            "No rejected signal {} stored.",
            if self.dry_run { "would be" } else { "was" }
        );
        self.printed
    }
}
