//! A second chance: the same parser, the same table, the same keys as if the signal had been right at first.
//!
//! A signal is removed from the rejects only after it is stored, and stored under a key that it always has: an
//! interrupted replay is simply run again.

use serde::Serialize;
use shared::invocation::Budget;
use shared::model::fault::{Fault, FaultCode};
use shared::model::place::Path;
use shared::model::signal::Signal;
use shared::model::token::JsonText;
use shared::store::signals::{Origin, Signals};

use super::Replay;
use super::edited;
use super::reject::Reject;
use super::table::Rejects;
use crate::error::Error;
use crate::output::{Output, Table as Rows, json, line, note};
use crate::stack::{PATIENCE, Stack, Table};

pub(super) async fn replay(stack: &Stack, rejects: &Rejects<'_>, replay: &Replay, output: Output) -> Result<(), Error> {
    let signals = Signals::new(stack.client.clone(), stack.table(Table::Signals)?, stack.retention()?);
    let table = stack.table(Table::Signals)?;
    let mut run = Run { rejects, signals, table, replay, report: Report::new(output, replay.dry_run) };
    if let Some(file) = &replay.from {
        for edited in edited::read(file)? {
            match rejects.find(&replay.account, &edited.id).await? {
                Some(reject) => {
                    run.replay(vec![Reject { payload: edited.payload, truncated: false, ..reject }]).await?;
                }
                None => run.report.missing(&edited.id.to_string())?,
            }
        }
    } else if !replay.ids.is_empty() {
        for id in &replay.ids {
            match rejects.find(&replay.account, id).await? {
                Some(reject) => run.replay(vec![reject]).await?,
                None => run.report.missing(&id.to_string())?,
            }
        }
    } else {
        let since = replay.since.unwrap_or_else(Rejects::kept_since);
        let matching = |reject: &Reject| replay.code.as_ref().is_none_or(|code| reject.has_code(code));
        rejects
            .since(&replay.account, since, async |mut found: Vec<Reject>| {
                found.retain(matching);
                run.replay(found).await
            })
            .await?;
    }
    run.report.conclude()
}

struct Run<'a> {
    rejects: &'a Rejects<'a>,
    signals: Signals,
    table: &'a str,
    replay: &'a Replay,
    report: Report,
}

impl Run<'_> {
    /// Replays these, those of one request together.
    async fn replay(&mut self, mut rejects: Vec<Reject>) -> Result<(), Error> {
        rejects.sort_by_cached_key(|reject| (reject.request_identifier.canonical(), reject.received_at, reject.index));
        let same_request = |a: &Reject, b: &Reject| {
            a.request_identifier.canonical() == b.request_identifier.canonical() && a.received_at == b.received_at
        };
        for of_request in rejects.chunk_by(same_request) {
            self.replay_request(of_request).await?;
        }
        Ok(())
    }

    async fn replay_request(&mut self, rejects: &[Reject]) -> Result<(), Error> {
        let Some(first) = rejects.first() else { return Ok(()) };
        let (mut passed, mut valid) = (Vec::new(), Vec::new());
        for reject in rejects {
            match parse(reject) {
                Ok(signal) => {
                    passed.push(reject);
                    valid.push(signal);
                }
                Err(faults) => self.report.rejected(reject, &faults)?,
            }
        }
        if !self.replay.dry_run && !valid.is_empty() {
            let origin = Origin {
                account_id: &self.replay.account,
                request_identifier: &first.request_identifier,
                received_at: first.received_at,
            };
            let put = self.signals.put(origin, &valid, Budget::lasting(PATIENCE)).await;
            let refused = put.map_err(|error| Error::of_store(self.table, &error))?;
            for reject in passed.extract_if(.., |reject| refused.contains(&reject.index)) {
                let fault = Fault::new(&Path::Root, FaultCode::RefusedByStore, "was refused by the database");
                self.report.rejected(reject, &[fault])?;
            }
            let keys: Vec<_> = passed.iter().map(|reject| reject.id.key(&self.replay.account)).collect();
            self.rejects.remove(&keys).await?;
        }
        passed.iter().try_for_each(|reject| self.report.accepted(reject))
    }
}

fn parse(reject: &Reject) -> Result<Signal<'_>, Vec<Fault>> {
    let signals = Path::Member(&Path::Root, "signals");
    let path = Path::Element(&signals, reject.index);
    match JsonText::parse(&reject.payload) {
        Ok(text) => Signal::parse(text, reject.index, &path).map_err(|rejected| rejected.faults),
        Err(_) => {
            Err(vec![Fault::new(&path, FaultCode::TooLarge, "was too large to be kept whole: replay it from a file")])
        }
    }
}

/// What came of each, as it comes.
struct Report {
    output: Output,
    dry_run: bool,
    rows: Rows,
    accepted: usize,
    rejected: usize,
    missing: usize,
}

/// What came of one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    id: &'a str,
    outcome: &'static str,
    dry_run: bool,
    faults: &'a [Fault],
}

impl Report {
    fn new(output: Output, dry_run: bool) -> Self {
        let rows = Rows::with_heading(["ID", "STILL REJECTED", "REASON"]);
        Self { output, dry_run, rows, accepted: 0, rejected: 0, missing: 0 }
    }

    fn accepted(&mut self, reject: &Reject) -> Result<(), Error> {
        self.accepted = self.accepted.saturating_add(1);
        self.tell(&reject.id.to_string(), "accepted", &[])
    }

    fn rejected(&mut self, reject: &Reject, faults: &[Fault]) -> Result<(), Error> {
        self.rejected = self.rejected.saturating_add(1);
        let id = reject.id.to_string();
        if self.output == Output::People {
            let first = faults.first();
            self.rows.row([
                &id,
                first.map_or("", |fault| fault.code.as_str()),
                first.map_or("", |fault| &fault.message),
            ]);
            return self.rows.print();
        }
        self.tell(&id, "rejected", faults)
    }

    fn missing(&mut self, id: &str) -> Result<(), Error> {
        self.missing = self.missing.saturating_add(1);
        note(&format!("There is no {id}: it was replayed, erased or has expired, or is another account's."));
        self.tell(id, "missing", &[])
    }

    fn tell(&self, id: &str, outcome: &'static str, faults: &[Fault]) -> Result<(), Error> {
        match self.output {
            Output::Programs => json(&Told { id, outcome, dry_run: self.dry_run, faults }),
            Output::People => Ok(()),
        }
    }

    fn conclude(self) -> Result<(), Error> {
        let Self { accepted, rejected, missing, .. } = self;
        if self.output == Output::People {
            let word = if self.dry_run { "would be accepted" } else { "accepted" };
            line(&format!("{accepted} {word}, {rejected} still rejected, {missing} not found."))?;
        }
        if missing > 0 {
            return Err(Error::new(format!("{missing} of the rejected signals that were named are not there.")));
        }
        Ok(())
    }
}
