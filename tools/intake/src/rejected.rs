//! `rejected`: lists the signals that the service rejected, and redrives them. Must not know
//! how a signal is stored.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::Tables;
use operator::rejected::redrive::{
    Candidate, Redrive, RedriveCounts, RedriveOutcome, Redriven, read_edited,
};
use operator::rejected::{RejectedSignal, RejectedTable, days};

use crate::output::{Format, PrintedTable, note, print_line};
use crate::stack::Stack;
use crate::time_args::time_or_age;

#[derive(Debug, Subcommand)]
pub(crate) enum RejectedCommand {
    /// List rejected signals with their first error; with --json with all errors and the payloads
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected list --account shop --since 7d\n  \
        cargo intake --stack intake-prod rejected list --account shop --json > rejected.ndjson"
    )]
    List(ListRejected),

    /// Parse and store rejected signals again; those that are stored are no longer rejected
    #[command(
        after_help = "Examples:\n  cargo intake --stack intake-prod rejected redrive --account shop --dry-run\n  \
        cargo intake --stack intake-prod rejected redrive --account shop 2026-11-20-07-7ace3111-3\n  \
        cargo intake --stack intake-prod rejected redrive --account shop --from rejected.ndjson\n\n\
        FILE has lines of `rejected list --json` with corrected payloads. The stored signal has the time at which it first \
        arrived. A signal that would already be expired stays rejected."
    )]
    Redrive(RedriveRejected),
}

impl RejectedCommand {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        match self {
            Self::List(list) => list.run(&stack.rejected_table()?, format).await,
            Self::Redrive(redrive) => redrive.run(&stack.tables()?, format).await,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ListRejected {
    /// The account
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// Only signals received at or after this time, such as 6h (ago) or 2026-11-20 [default: all
    /// that are kept]
    #[arg(long, value_name = "TIME", default_value = "1970-01-01", hide_default_value = true, value_parser = time_or_age)]
    since: Timestamp,
}

impl ListRejected {
    async fn run(&self, rejected_table: &RejectedTable, format: Format) -> Result<()> {
        let account = &self.account;
        let heading = ["RECEIVED", "CODE", "ID", "SUBJECT ID", "MESSAGE"];
        let mut rows = PrintedTable::new(format, heading).cut_to_terminal();
        let mut is_empty = true;
        for day in days(self.since, Timestamp::now()) {
            let signals = rejected_table
                .read_day(account, &day, self.since, |_| true)
                .await?;
            if signals.is_empty() {
                continue;
            }
            is_empty = false;
            for signal in &signals {
                add_row(&mut rows, signal)?;
            }
            // The rows of a day are printed together, so that their columns are equally wide.
            rows.print()?;
        }
        if is_empty {
            note(&format!(
                "No such rejected signals in the account {account}."
            ));
        }
        Ok(())
    }
}

/// Adds a signal with its first error. Only its JSON has all of them.
fn add_row(rows: &mut PrintedTable, signal: &RejectedSignal) -> Result<()> {
    let error = signal.errors.first();
    let code = error.map_or("", |error| error.code.as_str());
    let message = error.map_or("", |error| error.message.as_str());
    let cells = [
        &signal.received_at.to_string(),
        code,
        &signal.id.short(),
        signal.subject_id.as_deref().unwrap_or("-"),
        message,
    ];
    rows.add(signal, cells)
}

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

impl RedriveRejected {
    async fn run(&self, tables: &Tables, format: Format) -> Result<()> {
        let redrive = Redrive::new(tables, &self.account, self.dry_run);
        let mut report = RedriveReport::new(format, self.dry_run);
        let take = |redriven| report.add(&redriven);
        let finished = if let Some(file) = &self.from {
            redrive.run(&read_file(file)?, take).await
        } else if self.ids.is_empty() {
            redrive.run_as_sent(self.since, take).await
        } else {
            redrive.run_named(self.since, &self.ids, take).await
        };
        report.finish(finished)
    }
}

/// Reads the whole file: an operator edited it, so it fits into memory, and an invalid line must
/// stop the redrive before it begins.
fn read_file(file: &Path) -> Result<Vec<Candidate>> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("Cannot read {name}"))?;
    read_edited(&text, &name)
}

struct RedriveReport {
    format: Format,
    dry_run: bool,
    rows: PrintedTable,
    counts: RedriveCounts,
    /// The first error of printing. Nothing is printed after it, and the signals that are left are
    /// redriven all the same.
    printed: Result<()>,
}

impl RedriveReport {
    fn new(format: Format, dry_run: bool) -> Self {
        Self {
            format,
            dry_run,
            rows: PrintedTable::new(format, ["OUTCOME", "ID", "MESSAGE"]),
            counts: RedriveCounts::default(),
            printed: Ok(()),
        }
    }

    /// Adds a signal. People see only those that are not accepted.
    fn add(&mut self, redriven: &Redriven) {
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

    /// Prints the counts, also when the redrive stopped before its end.
    ///
    /// # Errors
    /// The redrive stopped, a signal is missing, none of the others was accepted, or the results could not be
    /// printed.
    fn finish(self, finished: Result<()>) -> Result<()> {
        let RedriveCounts {
            accepted,
            rejected,
            expired,
            missing,
        } = self.counts;
        let mut printed = self.printed;
        if self.format == Format::Text && printed.is_ok() {
            let verb = if self.dry_run {
                "would be accepted"
            } else {
                "accepted"
            };
            printed = print_line(&format!(
                "{accepted} {verb}, {rejected} still rejected, {expired} would already be expired, {missing} missing."
            ));
        }
        // A reader that closes standard output does not change the exit code.
        finished?;
        self.counts.ensure_success(self.dry_run)?;
        printed
    }
}
