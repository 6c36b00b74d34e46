//! How the results of a redrive are printed. Must not know how a signal is stored.

use anyhow::Result;
use operator::rejected::redrive::{RedriveCounts, RedriveOutcome, Redriven};

use crate::output::{Format, PrintedTable, print_line};

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

    /// Adds a signal. People see only those that are not accepted.
    pub(super) fn add(&mut self, redriven: &Redriven) {
        let outcome = &redriven.outcome;
        self.counts.add(outcome);
        let is_shown = self.format == Format::Json || !matches!(outcome, RedriveOutcome::Accepted);
        if is_shown && self.printed.is_ok() {
            self.printed = self.print(redriven);
        }
    }

    fn print(&mut self, redriven: &Redriven) -> Result<()> {
        let errors = redriven.outcome.errors();
        let message = errors.first().map_or("", |error| &error.message);
        let name = redriven.outcome.name();
        self.rows
            .add(redriven, [name, &redriven.short_id, message])?;
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
        self.counts.ensure_success(self.dry_run)?;
        self.printed
    }
}
