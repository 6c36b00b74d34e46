//! What became of the signals of a redrive, and how it is printed. Must not know how a signal is
//! stored.

use anyhow::{Result, ensure};
use model::validation::FieldError;
use serde_json::json;

use crate::output::{Format, PrintedTable, print_line};
use crate::rejected::rejected_signal_id::RejectedSignalId;

/// What became of a signal.
pub(super) enum RedriveOutcome {
    /// This run or an earlier one has stored it, or a dry run would store it.
    Accepted,
    /// It still breaks these rules.
    Rejected(Vec<FieldError>),
    /// It arrived longer ago than signals are kept: DynamoDB would delete it at once.
    Expired,
    /// No rejected signal has its id: it was redriven or erased, or has expired.
    Missing,
}

impl RedriveOutcome {
    fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected(_) => "rejected",
            Self::Expired => "expired",
            Self::Missing => "missing",
        }
    }

    fn errors(&self) -> &[FieldError] {
        match self {
            Self::Rejected(errors) => errors,
            Self::Accepted | Self::Expired | Self::Missing => &[],
        }
    }
}

/// How many signals had which outcome.
#[derive(Default)]
struct RedriveCounts {
    accepted: usize,
    rejected: usize,
    expired: usize,
    missing: usize,
}

pub(super) struct RedriveReport {
    format: Format,
    dry_run: bool,
    rows: PrintedTable,
    counts: RedriveCounts,
    /// The first error of printing. Nothing is printed after it, and the signals that are left are
    /// redriven all the same.
    printed: Result<()>,
}

impl RedriveReport {
    pub(super) fn new(format: Format, dry_run: bool) -> Self {
        Self {
            format,
            dry_run,
            rows: PrintedTable::new(format, ["OUTCOME", "ID", "MESSAGE"]),
            counts: RedriveCounts::default(),
            printed: Ok(()),
        }
    }

    /// Adds a signal. People read its short id.
    pub(super) fn add_signal(&mut self, id: &RejectedSignalId, outcome: &RedriveOutcome) {
        let id = match self.format {
            Format::Json => id.to_string(),
            Format::Text => id.short(),
        };
        self.add(&id, outcome);
    }

    /// Adds the outcome of a signal with this id. People see only those that are not accepted.
    pub(super) fn add(&mut self, id: &str, outcome: &RedriveOutcome) {
        match outcome {
            RedriveOutcome::Accepted => self.counts.accepted += 1,
            RedriveOutcome::Rejected(_) => self.counts.rejected += 1,
            RedriveOutcome::Expired => self.counts.expired += 1,
            RedriveOutcome::Missing => self.counts.missing += 1,
        }
        let is_shown = self.format == Format::Json || !matches!(outcome, RedriveOutcome::Accepted);
        if is_shown && self.printed.is_ok() {
            self.printed = self.print(id, outcome);
        }
    }

    fn print(&mut self, id: &str, outcome: &RedriveOutcome) -> Result<()> {
        let name = outcome.name();
        let errors = outcome.errors();
        let message = errors.first().map_or("", |error| &error.message);
        let json = json!({
            "id": id,
            "outcome": name,
            "dryRun": self.dry_run,
            "errors": errors,
        });
        self.rows.add(&json, [name, id, message])?;
        self.rows.print()
    }

    /// Prints the counts.
    ///
    /// # Errors
    /// A signal is missing, none of the others was accepted, or the results could not be printed.
    pub(super) fn finish(self) -> Result<()> {
        let RedriveCounts {
            accepted,
            rejected,
            expired,
            missing,
        } = self.counts;
        if self.format == Format::Text {
            let verb = if self.dry_run {
                "would be accepted"
            } else {
                "accepted"
            };
            print_line(&format!(
                "{accepted} {verb}, {rejected} still rejected, {expired} would already be expired, {missing} missing."
            ))?;
        }
        ensure!(
            missing == 0,
            "{missing} of the rejected signals are missing."
        );
        let verb = if self.dry_run { "would be" } else { "was" };
        ensure!(
            accepted > 0 || rejected + expired == 0,
            "No rejected signal {verb} stored."
        );
        self.printed
    }
}
