//! `import`: stores the customers or signals of a file, and says what became of its lines. Must not
//! know how a line is stored.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;
use operator::escape::escape_control;
use operator::import::{Import, ImportFile, ImportKind, ImportMode, ImportReport};
use serde_json::json;

use crate::interrupt::until_interrupted;
use crate::output::own_command;
use crate::output::{Format, counted, note};
use crate::stack::Stack;
use crate::time_args::fixed_time;

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals-with-times.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`. All lines are of one kind. The receivedAt or updatedAt of a line
overrides --received-at. Fields of a customer that are newer in the table stay. A signal that would already be expired is not
stored.

The same import stores nothing twice, so you can run it again. After Ctrl-C or an error, it prints the command that continues.
The import writes FILE.errors.ndjson beside FILE, with the number and the errors of each rejected line.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// The account of the customers or signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The time at which lines without a time of their own arrived, such as 2026-11-20 or
    /// 2026-11-20T22:16:40Z
    #[arg(long, value_name = "TIME", value_parser = fixed_time)]
    received_at: Option<Timestamp>,

    /// Leave out the lines before this one, as the command does that an interrupted import prints
    #[arg(long, value_name = "N", default_value = "1")]
    from_line: NonZeroU64,

    #[command(flatten)]
    kind: KindArgs,

    /// What tells the signals of this file from equal lines of another file [default: the name of the
    /// file, without its folder]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    /// Store nothing, and count what would be stored
    #[arg(long)]
    dry_run: bool,

    /// Exit with 0 although lines were rejected, if any line was stored
    #[arg(long)]
    keep_going: bool,

    /// The file, with one JSON object on each line
    file: PathBuf,
}

/// What the lines are.
#[derive(Args, Debug)]
struct KindArgs {
    /// Each line is a customer [default: the members of the lines show what they are]
    #[arg(long, conflicts_with = "signals")]
    customers: bool,

    /// Each line is a signal
    #[arg(long)]
    signals: bool,
}

impl ImportArgs {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let file = ImportFile {
            account: self.account.clone(),
            path: self.file.clone(),
            received_at: self.received_at,
            from_line: self.from_line,
            kind: self.kind.given(),
            source: self.source.clone(),
            mode: if self.dry_run {
                ImportMode::DryRun
            } else {
                ImportMode::Store
            },
        };
        let tables = stack.tables()?;
        let mut import = Import::new(&tables, &file)?;
        let work = Box::pin(import.run());
        let finished = until_interrupted(work).await;
        let stored = finished.and_then(|stored| stored.context("Interrupted."));
        if stored.is_err() {
            let command = self.command_from(import.next_line());
            note(&format!("To continue: {command}"));
        }
        stored?;
        let report = import.report();
        // A reader that closes standard output does not change the exit code.
        let printed = print_summary(report, self.dry_run, format);
        ensure!(
            report.is_success(),
            "No line of {} was stored.",
            file.path.display()
        );
        let rejected = report.counts().invalid;
        ensure!(
            self.keep_going || rejected == 0,
            "{} of {} {} rejected. Correct them in a file of their own, and import that. With --keep-going, the exit code \
             would be 0.",
            counted(rejected, "line"),
            file.path.display(),
            if rejected == 1 { "was" } else { "were" }
        );
        printed
    }

    /// The command that imports the lines from `line` on.
    fn command_from(&self, line: u64) -> String {
        let mut command = vec![format!(
            "{} import --account {}",
            own_command(),
            self.account
        )];
        if let Some(time) = self.received_at {
            command.push(format!("--received-at {time}"));
        }
        if let Some(source) = &self.source {
            command.push(format!("--source {}", quoted(source)));
        }
        for (is_given, option) in [
            (self.kind.customers, "--customers"),
            (self.kind.signals, "--signals"),
            (self.dry_run, "--dry-run"),
            (self.keep_going, "--keep-going"),
        ] {
            if is_given {
                command.push(option.to_owned());
            }
        }
        command.push(format!("--from-line {line}"));
        command.push(quoted(&self.file.to_string_lossy()));
        command.join(" ")
    }
}

impl KindArgs {
    fn given(&self) -> Option<ImportKind> {
        if self.customers {
            return Some(ImportKind::Customers);
        }
        self.signals.then_some(ImportKind::Signals)
    }
}

/// A text as a shell reads it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Prints what became of the lines of an import, or what would become of them.
fn print_summary(report: &ImportReport, dry_run: bool, format: Format) -> Result<()> {
    let error_file = report.error_file().map(|path| path.display().to_string());
    if let (Some(error_file), Format::Text) = (&error_file, format) {
        note(&format!(
            "The rejected lines and their errors are in {error_file}."
        ));
    }
    let counts = report.counts();
    let json = json!({
        "kind": report.kind(),
        "stored": counts.stored,
        "alreadyStored": counts.already_stored,
        "replaced": counts.replaced,
        "storedInPart": counts.stored_in_part,
        "nothingNewer": counts.nothing_newer,
        "rejected": counts.invalid,
        "expired": counts.expired,
        "dryRun": dry_run,
        "unknownFields": report.unknown_fields(),
        "errorFile": error_file,
    });
    format.print(&sentences(report, dry_run), &json)
}

/// The summary for people.
fn sentences(report: &ImportReport, dry_run: bool) -> String {
    let thing = report.kind().singular();
    let counts = report.counts();
    let verb = if dry_run { "would be stored" } else { "stored" };
    let mut parts = vec![format!("{} {verb}", counted(counts.stored, thing))];
    if counts.already_stored > 0 {
        parts.push(format!("{} stored before", counts.already_stored));
    }
    if counts.replaced > 0 {
        let verb = if dry_run {
            "would be replaced"
        } else {
            "replaced"
        };
        parts.push(format!("{} {verb}", counts.replaced));
    }
    if counts.stored_in_part > 0 {
        parts.push(format!(
            "{} {verb} in part: the other fields are newer in the table",
            counts.stored_in_part
        ));
    }
    if counts.nothing_newer > 0 {
        parts.push(format!(
            "{} with nothing newer to store",
            counts.nothing_newer
        ));
    }
    parts.push(format!("{} rejected", counted(counts.invalid, "line")));
    if counts.expired > 0 {
        parts.push(format!("{} expired: not stored", counts.expired));
    }
    let summary = parts.join(", ");
    if report.unknown_fields().is_empty() {
        return format!("{summary}.");
    }
    let names: Vec<_> = report
        .unknown_fields()
        .iter()
        .map(|name| escape_control(name))
        .collect();
    format!("{summary}.\nUnknown fields: {}.", names.join(", "))
}
