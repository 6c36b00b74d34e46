//! `rejected redrive`: parses and stores rejected signals as if they had been valid at first.
//!
//! A signal is deleted from the rejected ones only after it is stored, and always stored under the same key: after an
//! interruption, run the command again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use futures_util::{StreamExt as _, stream};
use model::account::AccountId;
use model::deadline::Deadline;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use model::validation::FieldError;
use serde_json::json;
use store::batch_context::BatchContext;
use store::signals::SignalsTable;

use super::edited::{self, Edited};
use super::table::RejectedTable;
use crate::error::store_error;
use crate::output::{Format, Table, print_json, print_line};
use crate::stack::{SIGNALS, WRITE_TIMEOUT};

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

    /// The signals to redrive, with the payloads that the file has
    file: PathBuf,
}

/// What became of a signal of the file.
enum Outcome {
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
        let stack = rejected.stack;
        let signals = SignalsTable::new(stack.client.clone(), stack.table(SIGNALS)?, stack.retention()?);
        let edited = edited::read(&self.file)?;
        let work: Vec<_> = edited.iter().map(|edited| self.redrive(rejected, &signals, edited)).collect();
        let mut outcomes = stream::iter(edited.iter()).zip(stream::iter(work).buffered(CONCURRENT_SIGNALS));
        let mut rows = Table::with_heading(["OUTCOME", "ID", "MESSAGE"]);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        while let Some((edited, outcome)) = outcomes.next().await {
            let outcome = outcome?;
            *counts.entry(outcome.as_str()).or_default() += 1;
            let (id, name) = (edited.id.to_string(), outcome.as_str());
            let errors = if let Outcome::Rejected(errors) = &outcome { errors.as_slice() } else { &[] };
            match format {
                Format::Json => {
                    print_json(&json!({"id": id, "outcome": name, "dryRun": self.dry_run, "errors": errors}))?;
                }
                Format::Table if name == "accepted" => {}
                Format::Table => {
                    rows.row([name, &id, errors.first().map_or("", |error| &error.message)]);
                    rows.print()?;
                }
            }
        }
        let [accepted, rejected, expired, missing] = ["accepted", "rejected", "expired", "missing"]
            .map(|outcome| counts.get(outcome).copied().unwrap_or_default());
        if format == Format::Table {
            let verb = if self.dry_run { "would be accepted" } else { "accepted" };
            print_line(&format!(
                "{accepted} {verb}, {rejected} still rejected, {expired} would already be expired, {missing} not found."
            ))?;
        }
        ensure!(missing == 0, "{missing} of the rejected signals do not exist.");
        Ok(())
    }

    async fn redrive(&self, rejected: &RejectedTable<'_>, signals: &SignalsTable, edited: &Edited) -> Result<Outcome> {
        let Some(found) = rejected.find(&self.account, &edited.id).await? else { return Ok(Outcome::Missing) };
        if signals.has_expired(found.received_at, Timestamp::now()) {
            return Ok(Outcome::Expired);
        }
        let all = JsonPointer::Member(&JsonPointer::Root, "signals");
        let text = JsonText::parse(edited.payload.get()).map_err(|error| anyhow!(error.reason))?;
        let signal = match Signal::parse(text, found.index, &JsonPointer::Element(&all, found.index)) {
            Ok(signal) => signal,
            Err(rejected) => return Ok(Outcome::Rejected(rejected.errors)),
        };
        if self.dry_run {
            return Ok(Outcome::Accepted);
        }
        let context = BatchContext::without_request(&self.account, &found.request_identifier, found.received_at);
        let put = signals.put(context, &[signal], Deadline::after(WRITE_TIMEOUT)).await;
        let refused =
            put.map_err(|unstored| store_error(rejected.stack.table(SIGNALS).unwrap_or_default(), &unstored.error))?;
        if !refused.is_empty() {
            return Ok(Outcome::Rejected(vec![FieldError::refused_by_store(&JsonPointer::Root)]));
        }
        rejected.delete(&[edited.id.key(&self.account)]).await?;
        Ok(Outcome::Accepted)
    }
}
