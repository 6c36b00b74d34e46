//! Parses and stores rejected signals as if they had been valid at first. Must not know how one
//! signal is stored.
//!
//! A rejected signal is deleted only after it is stored, and it is always stored under the same
//! key: after an interruption, the operator redrives it again. `attempt` does this with one
//! signal, `redrive_outcome` says what became of it.

mod attempt;
mod redrive_outcome;

use std::collections::{BTreeSet, HashSet};

use anyhow::{Context as _, Result, ensure};
use futures_util::{StreamExt as _, stream};
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use store::signals::SignalsTable;

use super::rejected_signal::RejectedSignal;
use super::rejected_signal_id::{RejectedSignalId, refuse_ambiguous};
use super::rejected_table::{RejectedTable, days};
use crate::Tables;
use crate::file_line::trimmed;

pub use self::redrive_outcome::{RedriveCounts, RedriveOutcome, Redriven};

/// How many signals are stored at once.
const CONCURRENT_SIGNALS: usize = 16;

/// A redrive of signals of one account.
pub struct Redrive<'a> {
    account: &'a AccountId,
    dry_run: bool,
    tables: &'a Tables,
    rejected_table: RejectedTable,
    signals_table: SignalsTable,
}

/// A rejected signal, and the payload that is to be stored in its place.
pub struct Candidate {
    id: RejectedSignalId,
    payload: String,
}

impl Candidate {
    /// The signal with the payload that the client sent.
    fn as_sent(signal: RejectedSignal) -> Self {
        Self {
            id: signal.id,
            payload: signal.payload,
        }
    }
}

impl<'a> Redrive<'a> {
    /// A dry run stores and deletes nothing.
    pub fn new(tables: &'a Tables, account: &'a AccountId, dry_run: bool) -> Self {
        let rejected_table = RejectedTable::new(
            tables.dynamodb.clone(),
            &tables.rejected_signals,
            tables.note,
        );
        let signals_table =
            SignalsTable::new(tables.dynamodb.clone(), &tables.signals, tables.retention);
        Self {
            account,
            dry_run,
            tables,
            rejected_table,
            signals_table,
        }
    }

    /// Redrives all signals that arrived at or after `since`, with the payloads that clients sent:
    /// they may have become valid since. `take` gets what became of each one.
    ///
    /// # Errors
    /// DynamoDB failed: some signals are redriven, some are not.
    pub async fn run_as_sent(
        &self,
        since: Timestamp,
        mut take: impl FnMut(Redriven),
    ) -> Result<()> {
        for day in days(since, Timestamp::now()) {
            let signals = self
                .rejected_table
                .read_day(self.account, &day, since, |_| true)
                .await?;
            let candidates: Vec<_> = signals.into_iter().map(Candidate::as_sent).collect();
            self.run(&candidates, &mut take).await?;
        }
        Ok(())
    }

    /// The same, only for the signals with these names: their ids, in full or in the short form.
    ///
    /// # Errors
    /// A name fits more than one signal: none is redriven. Otherwise as [`run_as_sent`](Self::run_as_sent).
    pub async fn run_named(
        &self,
        since: Timestamp,
        names: &[String],
        mut take: impl FnMut(Redriven),
    ) -> Result<()> {
        let mut candidates = Vec::new();
        let mut days_of_names = days(since, Timestamp::now());
        // Both forms of an id begin with the day of the signal.
        days_of_names.retain(|day| names.iter().any(|name| name.starts_with(day)));
        for day in days_of_names {
            let is_named = |signal: &RejectedSignal| signal.id.is_one_of(names);
            let signals = self
                .rejected_table
                .read_day(self.account, &day, since, is_named)
                .await?;
            candidates.extend(signals.into_iter().map(Candidate::as_sent));
        }
        refuse_ambiguous(names, candidates.iter().map(|one| &one.id))?;
        self.run(&candidates, &mut take).await?;
        let is_missing = |name: &&String| {
            let name = std::slice::from_ref(*name);
            !candidates.iter().any(|one| one.id.is_one_of(name))
        };
        let missing: BTreeSet<_> = names.iter().filter(is_missing).collect();
        for name in missing {
            take(Redriven::missing(name, self.dry_run));
        }
        Ok(())
    }

    /// Redrives these signals. `take` gets what became of each one, in their order.
    ///
    /// # Errors
    /// As [`run_as_sent`](Self::run_as_sent).
    pub async fn run(
        &self,
        candidates: &[Candidate],
        mut take: impl FnMut(Redriven),
    ) -> Result<()> {
        let work: Vec<_> = candidates
            .iter()
            .map(|candidate| self.redrive_one(candidate))
            .collect();
        let outcomes = stream::iter(work).buffered(CONCURRENT_SIGNALS);
        let mut finished = stream::iter(candidates).zip(outcomes);
        while let Some((candidate, outcome)) = finished.next().await {
            take(Redriven::new(&candidate.id, outcome?, self.dry_run));
        }
        Ok(())
    }
}

/// A line of `rejected list --json` with an edited payload.
#[derive(Deserialize)]
#[serde(expecting = "an object with id and payload")]
struct EditedLine {
    id: RejectedSignalId,
    payload: Box<RawValue>,
}

/// Reads lines of `rejected list --json`, whose payloads an operator edited. `name` is what the
/// errors call the text.
///
/// # Errors
/// A line is none of that command, or repeats an id.
pub fn read_edited(text: &str, name: &str) -> Result<Vec<Candidate>> {
    let mut ids = HashSet::new();
    let mut candidates = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines().map(trimmed)) {
        if line.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_that_is_no_object_is_an_error_that_says_what_is_expected() {
        for line in ["[]", "7", "\"id\""] {
            let Err(error) = read_edited(line, "f") else {
                panic!("{line} was read");
            };
            let error = format!("{error:#}");
            assert!(
                error.contains(", expected an object with id and payload"),
                "{error}"
            );
        }
    }

    #[test]
    fn byte_order_mark_and_white_space_are_no_part_of_an_edited_line() {
        let line = |index: u8| {
            format!(
                r#"{{"id":"2026-11-20#07#3fa85f64-5717-4562-b3fc-2c963f66afa6#000{index}#00ff00ff00ff00ff","payload":{{"a":1}}}}"#
            )
        };
        let text = format!("\u{feff}{}\r\n\u{feff}\r\n\u{feff} {}", line(1), line(2));
        let candidates = read_edited(&text, "f").unwrap();
        let payloads: Vec<_> = candidates.iter().map(|one| one.payload.as_str()).collect();
        assert_eq!(payloads, [r#"{"a":1}"#; 2]);
    }
}
