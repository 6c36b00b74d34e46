//! `rejected redrive`: parses and stores rejected signals as if they had been valid at first. Must
//! not know how one signal is stored.
//!
//! A rejected signal is deleted only after it is stored, and it is always stored under the same
//! key: after an interruption, the operator runs the command again. [`attempt`] does this with one
//! signal, [`report`] prints what became of all.

mod attempt;
mod report;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use futures_util::{StreamExt as _, stream};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use self::report::{RedriveOutcome, RedriveReport};
use super::rejected_signal_id::RejectedSignalId;
use super::rejected_table::{RejectedTable, days};
use crate::output::Format;
use crate::time_args::time_or_age;

/// How many signals are stored at once.
const CONCURRENT_SIGNALS: usize = 16;

#[derive(Args, Debug)]
pub(crate) struct RedriveRejected {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only print what would become of the signals
    #[arg(long)]
    dry_run: bool,

    /// Redrive the signals of this file, with the payloads that it has
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "ids"])]
    from: Option<PathBuf>,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = time_or_age)]
    since: Timestamp,

    /// Only signals with these ids, as `rejected list` shows them [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

/// A rejected signal, and the payload that is to be stored in its place.
struct Candidate {
    id: RejectedSignalId,
    payload: String,
}

impl RedriveRejected {
    pub(super) async fn run(
        &self,
        rejected_table: &RejectedTable<'_>,
        format: Format,
    ) -> Result<()> {
        let mut report = RedriveReport::new(format, self.dry_run);
        if let Some(file) = &self.from {
            let candidates = read_edited(file)?;
            self.redrive_all(rejected_table, &candidates, &mut report)
                .await?;
        } else {
            self.redrive_as_sent(rejected_table, &mut report).await?;
        }
        report.finish()
    }

    /// Redrives signals with the payloads that clients sent: they may have become valid since.
    async fn redrive_as_sent(
        &self,
        rejected_table: &RejectedTable<'_>,
        report: &mut RedriveReport,
    ) -> Result<()> {
        let mut missing: BTreeSet<&str> = self.ids.iter().map(String::as_str).collect();
        for day in days(self.since, Timestamp::now()) {
            let mut candidates = Vec::new();
            let signals = rejected_table
                .read_day(&self.account, &day, self.since)
                .await?;
            for signal in signals {
                let names = [signal.id.to_string(), signal.id.short()];
                let is_named = names.iter().any(|name| self.ids.contains(name));
                if !self.ids.is_empty() && !is_named {
                    continue;
                }
                for name in &names {
                    missing.remove(name.as_str());
                }
                candidates.push(Candidate {
                    id: signal.id,
                    payload: signal.payload,
                });
            }
            self.redrive_all(rejected_table, &candidates, report)
                .await?;
        }
        for id in missing {
            report.add(id, &RedriveOutcome::Missing);
        }
        Ok(())
    }

    async fn redrive_all(
        &self,
        rejected_table: &RejectedTable<'_>,
        candidates: &[Candidate],
        report: &mut RedriveReport,
    ) -> Result<()> {
        let work: Vec<_> = candidates
            .iter()
            .map(|candidate| self.redrive_one(rejected_table, candidate))
            .collect();
        let outcomes = stream::iter(work).buffered(CONCURRENT_SIGNALS);
        let mut finished = stream::iter(candidates).zip(outcomes);
        while let Some((candidate, outcome)) = finished.next().await {
            report.add_signal(&candidate.id, &outcome?);
        }
        Ok(())
    }
}

/// A line of the file of `--from`: a line of `rejected list --json` with an edited payload.
#[derive(Deserialize)]
struct EditedLine {
    id: RejectedSignalId,
    payload: Box<RawValue>,
}

/// Reads the whole file: an operator edited it, so it fits into memory, and an invalid line must
/// stop the redrive before it begins.
fn read_edited(file: &Path) -> Result<Vec<Candidate>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("Cannot read {name}"))?;
    let mut ids = HashSet::new();
    let mut candidates = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let edited: EditedLine = serde_json::from_str(line).with_context(|| {
            format!("Line {number} of {name} is not a line of `rejected list --json`")
        })?;
        let is_new = ids.insert(edited.id.clone());
        ensure!(
            is_new,
            "Line {number} of {name} repeats the id of an earlier line: {}.",
            edited.id
        );
        candidates.push(Candidate {
            id: edited.id,
            payload: edited.payload.get().to_owned(),
        });
    }
    Ok(candidates)
}
