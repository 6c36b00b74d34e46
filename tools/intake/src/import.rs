//! `import`: stores the customers or signals of a file.
//!
//! The key of a signal is made of its time and of what [`chunks`] make of the file's content, so
//! each run stores the same lines under the same keys: an import keeps no record of its progress.
//! [`mod@line`] reads what a line has beyond what a client sends, [`writer`] stores a chunk as the
//! functions would, and [`report`] counts what became of the lines.

mod chunks;
mod kind;
mod line;
mod line_error;
mod report;
mod writer;

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::chunks::{Chunk, Chunks, cannot_read};
use self::kind::ImportKind;
use self::line::{MAX_AHEAD, parse_lines};
use self::report::ImportReport;
use self::writer::Writer;
use crate::interrupt::until_interrupted;
use crate::output::{Format, NOTE_INTERVAL, note};
use crate::program_name::own_name;
use crate::stack::Stack;
use crate::time_args::fixed_time;

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals-with-times.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`; the first line decides which. A line's own receivedAt or updatedAt wins
over --received-at. A customer of whom a newer update is stored is skipped; a signal that would already be expired is not stored.

The same import stores nothing twice, so run it again after an interruption; Ctrl-C and an error print the command that continues.
The import writes FILE.errors.ndjson beside FILE, with the number and the errors of each rejected line.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
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

    /// The file, with one JSON object on each line
    file: PathBuf,
}

/// How far an import is.
struct Progress {
    report: ImportReport,
    /// The first line of which it is not known that it is stored.
    next_line: u64,
}

impl Import {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        ensure_regular_file(&self.file)?;
        let kind = ImportKind::of_file(&self.file)?;
        let retention = match kind {
            // Customers do not expire.
            ImportKind::Customers => None,
            ImportKind::Signals => stack.retention()?,
        };
        let writer = Writer::new(stack, &self.account, kind, retention)?;
        self.ensure_times(kind, retention)?;
        let error_path = self.file.with_added_extension("errors.ndjson");
        if self.from_line == NonZeroU64::MIN {
            delete_errors_of_earlier_run(&error_path)?;
        }
        let mut progress = Progress {
            report: ImportReport::new(kind, error_path),
            next_line: self.from_line.get(),
        };
        let work = Box::pin(self.store(&writer, &mut progress));
        let finished = until_interrupted(work).await;
        let stored = finished.and_then(|stored| stored.context("Interrupted."));
        if stored.is_err() {
            let command = self.command_from(progress.next_line, stack);
            note(&format!("To continue: {command}"));
        }
        stored?;
        progress.report.print(format)?;
        ensure!(
            progress.report.is_success(),
            "No line of {} was stored.",
            self.file.display()
        );
        Ok(())
    }

    async fn store(&self, writer: &Writer<'_>, progress: &mut Progress) -> Result<()> {
        let mut chunks = self.open()?;
        let file_bytes = std::fs::metadata(&self.file)?.len();
        let mut noted_at = Instant::now();
        while let Some(chunk) = self.read_chunk(&mut chunks)? {
            writer
                .store(&chunk, self.received_at, &mut progress.report)
                .await?;
            progress.report.write_invalid_lines()?;
            // The chunks before the first line to import have no lines.
            progress.next_line = self.from_line.get().max(chunks.next_line());
            if noted_at.elapsed() >= NOTE_INTERVAL {
                let percent = chunks.bytes_read().saturating_mul(100) / file_bytes.max(1);
                let file = self.file.display();
                let last_line = progress.next_line - 1;
                note(&format!(
                    "{percent} % of {file} imported, up to line {last_line}."
                ));
                noted_at = Instant::now();
            }
        }
        Ok(())
    }

    fn open(&self) -> Result<Chunks<BufReader<File>>> {
        Chunks::open(&self.file, self.from_line.get())
    }

    fn read_chunk(&self, chunks: &mut Chunks<BufReader<File>>) -> Result<Option<Chunk>> {
        chunks.read().with_context(|| cannot_read(&self.file))
    }

    /// Fails when a line has no time and `--received-at` is missing, or when no line may have the
    /// time of `--received-at`. The import does not choose a time: the next run would choose another
    /// one, and store the signals under other keys.
    fn ensure_times(&self, kind: ImportKind, retention: Option<Duration>) -> Result<()> {
        match self.received_at {
            Some(received_at) => ensure_usable(received_at, retention),
            None => self.ensure_each_line_has_a_time(kind),
        }
    }

    fn ensure_each_line_has_a_time(&self, kind: ImportKind) -> Result<()> {
        let mut chunks = self.open()?;
        while let Some(chunk) = self.read_chunk(&mut chunks)? {
            parse_lines(&chunk, kind, None)?;
        }
        Ok(())
    }

    /// The command that imports the lines from `line` on.
    fn command_from(&self, line: u64, stack: &Stack) -> String {
        let stack_arguments = &stack.arguments;
        let account = &self.account;
        let received_at = self
            .received_at
            .map(|time| format!(" --received-at {time}"))
            .unwrap_or_default();
        let quoted_file = self.file.to_string_lossy().replace('\'', r"'\''");
        format!(
            "{}{stack_arguments} import --account {account}{received_at} --from-line {line} '{quoted_file}'",
            own_name()
        )
    }
}

/// Fails when the path names a pipe, a device or a folder. An import opens its file several times, and
/// what one reader takes out of a pipe, the next one does not find.
fn ensure_regular_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).with_context(|| cannot_read(path))?;
    ensure!(
        metadata.is_file(),
        "{}: an import reads its file several times, and this is no regular file. Write the lines into a file first, and \
         import that file.",
        cannot_read(path)
    );
    Ok(())
}

fn delete_errors_of_earlier_run(path: &Path) -> Result<()> {
    if path.exists() {
        std::fs::remove_file(path).with_context(|| format!("Cannot delete {}", path.display()))?;
    }
    Ok(())
}

fn ensure_usable(received_at: Timestamp, retention: Option<Duration>) -> Result<()> {
    let now = Timestamp::now();
    ensure!(
        received_at <= now.plus(MAX_AHEAD),
        "--received-at is {received_at}: more than {} minutes ahead.",
        MAX_AHEAD.as_secs() / 60
    );
    if let Some(retention) = retention {
        let days = retention.as_secs() / 86_400;
        ensure!(
            received_at.plus(retention) > now,
            "The signals would already be expired: --received-at is {received_at}, and signals are kept for {days} days \
             (SIGNAL_RETENTION_DAYS). Use a later --received-at."
        );
    }
    Ok(())
}
