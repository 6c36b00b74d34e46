//! What became of the signals of a redrive. Must not know how a signal is stored.

use anyhow::{Result, ensure};
use model::validation::FieldError;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::rejected::rejected_signal_id::RejectedSignalId;

/// What became of a signal.
#[derive(Debug)]
pub enum RedriveOutcome {
    /// This run or an earlier one has stored it, or a dry run would store it.
    Accepted,
    /// It still breaks these rules.
    Rejected(Vec<FieldError>),
    /// It arrived longer ago than signals are kept: DynamoDB would delete it at once.
    Expired,
    /// No rejected signal has its id: it was redriven with another payload or erased, or has expired.
    Missing,
}

/// A signal that was named or found, and what became of it. As JSON, it is a line of `rejected
/// redrive --json`.
#[derive(Debug)]
pub struct Redriven {
    /// The whole id of a rejected signal, or the one that was not found.
    pub id: String,
    /// The form of the id for people.
    pub short_id: String,
    pub outcome: RedriveOutcome,
    /// Whether nothing was stored because it was a dry run.
    pub dry_run: bool,
}

/// How many signals had which outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedriveCounts {
    pub accepted: usize,
    pub rejected: usize,
    pub expired: usize,
    pub missing: usize,
}

impl RedriveOutcome {
    /// Its name in a line of `rejected redrive --json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected(_) => "rejected",
            Self::Expired => "expired",
            Self::Missing => "missing",
        }
    }

    /// The rules that the signal still breaks.
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::Rejected(errors) => errors,
            Self::Accepted | Self::Expired | Self::Missing => &[],
        }
    }
}

impl Redriven {
    pub(super) fn new(id: &RejectedSignalId, outcome: RedriveOutcome, dry_run: bool) -> Self {
        Self {
            id: id.to_string(),
            short_id: id.short(),
            outcome,
            dry_run,
        }
    }

    /// A signal that was named by `id` and not found.
    pub(super) fn missing(id: &str, dry_run: bool) -> Self {
        Self {
            id: id.to_owned(),
            short_id: id.to_owned(),
            outcome: RedriveOutcome::Missing,
            dry_run,
        }
    }
}

impl Serialize for Redriven {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Redriven", 4)?;
        line.serialize_field("id", &self.id)?;
        line.serialize_field("outcome", self.outcome.name())?;
        line.serialize_field("dryRun", &self.dry_run)?;
        line.serialize_field("errors", self.outcome.errors())?;
        line.end()
    }
}

impl RedriveCounts {
    pub fn add(&mut self, outcome: &RedriveOutcome) {
        match outcome {
            RedriveOutcome::Accepted => self.accepted += 1,
            RedriveOutcome::Rejected(_) => self.rejected += 1,
            RedriveOutcome::Expired => self.expired += 1,
            RedriveOutcome::Missing => self.missing += 1,
        }
    }

    /// # Errors
    /// A signal is missing, or none of several was accepted.
    pub fn ensure_success(&self, dry_run: bool) -> Result<()> {
        ensure!(
            self.missing == 0,
            "{} of the rejected signals are missing.",
            self.missing
        );
        let verb = if dry_run { "would be" } else { "was" };
        ensure!(
            self.accepted > 0 || self.rejected + self.expired == 0,
            "No rejected signal {verb} stored."
        );
        Ok(())
    }
}
