//! A second chance: the same parser, the same table, the same keys as if the signal had been right at first.
//!
//! A signal is removed from the rejected only after it is stored, and stored under a key that it always has: an
//! interrupted redrive is simply run again.

use anyhow::{Result, bail};
use model::deadline::Budget;
use model::fault::{Fault, FaultCode};
use model::place::Path;
use model::signal::Signal;
use model::token::JsonText;
use serde::Serialize;
use store::signals::{Origin, Signals};

use super::Redrive;
use super::edited;
use super::rejected_signal::RejectedSignal;
use super::table::RejectedSignals;
use crate::error::store_error;
use crate::output::{Format, Table as Rows, json, line, note};
use crate::stack::{Stack, Table, WRITE_TIMEOUT};

pub(super) async fn redrive(
    stack: &Stack,
    rejected: &RejectedSignals<'_>,
    redrive: &Redrive,
    format: Format,
) -> Result<()> {
    let signals = Signals::new(stack.client.clone(), stack.table(Table::Signals)?, stack.retention()?);
    let table = stack.table(Table::Signals)?;
    let mut run = Run { rejected, signals, table, redrive, report: Report::new(format, redrive.dry_run) };
    if let Some(file) = &redrive.from {
        for edited in edited::read(file)? {
            match rejected.find(&redrive.account, &edited.id).await? {
                Some(signal) => {
                    run.redrive(vec![RejectedSignal { payload: edited.payload, truncated: false, ..signal }]).await?;
                }
                None => run.report.missing(&edited.id.to_string())?,
            }
        }
    } else if !redrive.ids.is_empty() {
        for id in &redrive.ids {
            match rejected.find(&redrive.account, id).await? {
                Some(signal) => run.redrive(vec![signal]).await?,
                None => run.report.missing(&id.to_string())?,
            }
        }
    } else {
        let since = redrive.since.unwrap_or_else(RejectedSignals::kept_since);
        let matching = |signal: &RejectedSignal| redrive.code.as_ref().is_none_or(|code| signal.has_code(code));
        rejected
            .since(&redrive.account, since, async |mut found: Vec<RejectedSignal>| {
                found.retain(matching);
                run.redrive(found).await
            })
            .await?;
    }
    run.report.conclude()
}

struct Run<'a> {
    rejected: &'a RejectedSignals<'a>,
    signals: Signals,
    table: &'a str,
    redrive: &'a Redrive,
    report: Report,
}

impl Run<'_> {
    /// Replays these, those of one request together.
    async fn redrive(&mut self, mut rejected: Vec<RejectedSignal>) -> Result<()> {
        rejected.sort_by_cached_key(|signal| (signal.request_identifier.canonical(), signal.received_at, signal.index));
        let same_request = |a: &RejectedSignal, b: &RejectedSignal| {
            a.request_identifier.canonical() == b.request_identifier.canonical() && a.received_at == b.received_at
        };
        for of_request in rejected.chunk_by(same_request) {
            self.redrive_request(of_request).await?;
        }
        Ok(())
    }

    async fn redrive_request(&mut self, rejected: &[RejectedSignal]) -> Result<()> {
        let Some(first) = rejected.first() else { return Ok(()) };
        let (mut passed, mut valid) = (Vec::new(), Vec::new());
        for original in rejected {
            match parse(original) {
                Ok(signal) => {
                    passed.push(original);
                    valid.push(signal);
                }
                Err(errors) => self.report.rejected(original, &errors)?,
            }
        }
        if !self.redrive.dry_run && !valid.is_empty() {
            let origin = Origin {
                account_id: &self.redrive.account,
                request_identifier: &first.request_identifier,
                received_at: first.received_at,
            };
            let put = self.signals.put(origin, &valid, Budget::lasting(WRITE_TIMEOUT)).await;
            let refused = put.map_err(|error| store_error(self.table, &error))?;
            for signal in passed.extract_if(.., |signal| refused.contains(&signal.index)) {
                let error = Fault::new(&Path::Root, FaultCode::RefusedByStore, "was refused by the database");
                self.report.rejected(signal, &[error])?;
            }
            let keys: Vec<_> = passed.iter().map(|signal| signal.id.key(&self.redrive.account)).collect();
            self.rejected.remove(&keys).await?;
        }
        passed.iter().try_for_each(|signal| self.report.accepted(signal))
    }
}

fn parse(signal: &RejectedSignal) -> Result<Signal<'_>, Vec<Fault>> {
    let signals = Path::Member(&Path::Root, "signals");
    let path = Path::Element(&signals, signal.index);
    match JsonText::parse(&signal.payload) {
        Ok(text) => Signal::parse(text, signal.index, &path).map_err(|rejected| rejected.faults),
        Err(_) => {
            Err(vec![Fault::new(&path, FaultCode::TooLarge, "was too large to be kept whole: redrive it from a file")])
        }
    }
}

/// What came of each, as it comes.
struct Report {
    format: Format,
    dry_run: bool,
    rows: Rows,
    accepted: usize,
    rejected: usize,
    missing: usize,
}

/// What came of one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RedriveRow<'a> {
    id: &'a str,
    outcome: &'static str,
    dry_run: bool,
    errors: &'a [Fault],
}

impl Report {
    fn new(format: Format, dry_run: bool) -> Self {
        let rows = Rows::with_heading(["ID", "STILL REJECTED", "REASON"]);
        Self { format, dry_run, rows, accepted: 0, rejected: 0, missing: 0 }
    }

    fn accepted(&mut self, signal: &RejectedSignal) -> Result<()> {
        self.accepted = self.accepted.saturating_add(1);
        self.tell(&signal.id.to_string(), "accepted", &[])
    }

    fn rejected(&mut self, signal: &RejectedSignal, errors: &[Fault]) -> Result<()> {
        self.rejected = self.rejected.saturating_add(1);
        let id = signal.id.to_string();
        if self.format == Format::Table {
            let first = errors.first();
            self.rows.row([
                &id,
                first.map_or("", |error| error.code.as_str()),
                first.map_or("", |error| &error.message),
            ]);
            return self.rows.print();
        }
        self.tell(&id, "rejected", errors)
    }

    fn missing(&mut self, id: &str) -> Result<()> {
        self.missing = self.missing.saturating_add(1);
        note(&format!("There is no {id}: it was redriven, erased or has expired, or is another account's."));
        self.tell(id, "missing", &[])
    }

    fn tell(&self, id: &str, outcome: &'static str, errors: &[Fault]) -> Result<()> {
        match self.format {
            Format::Json => json(&RedriveRow { id, outcome, dry_run: self.dry_run, errors }),
            Format::Table => Ok(()),
        }
    }

    fn conclude(self) -> Result<()> {
        let Self { accepted, rejected, missing, .. } = self;
        if self.format == Format::Table {
            let word = if self.dry_run { "would be accepted" } else { "accepted" };
            line(&format!("{accepted} {word}, {rejected} still rejected, {missing} not found."))?;
        }
        if missing > 0 {
            bail!("{missing} of the rejected signals that were named are not there.");
        }
        Ok(())
    }
}
