//! Stores the customers or signals of a file.
//!
//! The key of a signal is made of its line (`line_key`), and the fence of a customer of the time of
//! its line, so each run stores the same: an import keeps no record of its progress. `line` reads
//! what a line has beyond what a client sends, `writer` stores a chunk as the functions would, and
//! `report` counts what became of the lines. Of lines that set a field at the same time, `last_changes`
//! finds the last one.

mod chunks;
mod kind;
mod last_changes;
mod line;
mod line_error;
mod line_key;
mod report;
mod writer;

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::chunks::{Chunk, Chunks, ImportLine, cannot_read};
use self::line::{MAX_AHEAD, ParsedLine, parse_lines};
use self::writer::Writer;
use crate::{NOTE_INTERVAL, Note, Tables};

pub use self::kind::ImportKind;
pub use self::report::{ImportReport, LineCounts};
pub use self::writer::ImportMode;

/// What an import stores.
#[derive(Clone, Debug)]
pub struct ImportFile {
    /// The account of the customers or signals.
    pub account: AccountId,
    /// The file, with one JSON object on each line.
    pub path: PathBuf,
    /// The time at which lines without a time of their own arrived.
    pub received_at: Option<Timestamp>,
    /// The first line that is stored, counted from 1.
    pub from_line: NonZeroU64,
    /// What the lines are; `None` where their members show it.
    pub kind: Option<ImportKind>,
    /// What tells the lines of this file from equal lines of another file; `None` for the name of the
    /// file, without its folder.
    pub source: Option<String>,
    pub mode: ImportMode,
}

/// An import of a file, and how far it is.
pub struct Import<'a> {
    file: &'a ImportFile,
    writer: Writer<'a>,
    note: Note,
    report: ImportReport,
    next_line: u64,
}

impl<'a> Import<'a> {
    /// Looks at the file before any of it is stored, and deletes the errors of an earlier run.
    ///
    /// # Errors
    /// It cannot be read several times, it ends before [`ImportFile::from_line`], its lines do not show what
    /// they are or are of both kinds, a line has no time, or no line may have the time of [`ImportFile::received_at`].
    pub fn new(tables: &'a Tables, file: &'a ImportFile) -> Result<Self> {
        ensure_regular_file(&file.path)?;
        file.ensure_has_first_line()?;
        let kind = match file.kind {
            Some(kind) => kind,
            None => ImportKind::of_file(&file.path)?,
        };
        let retention = match kind {
            // Customers do not expire.
            ImportKind::Customers => None,
            ImportKind::Signals => tables.retention,
        };
        if let Some(received_at) = file.received_at {
            ensure_usable(received_at, retention)?;
        }
        let writer = Writer::new(tables, file, kind)?;
        let error_path = file.error_path();
        if file.from_line == NonZeroU64::MIN {
            delete_errors_of_earlier_run(&error_path)?;
        }
        Ok(Self {
            file,
            writer,
            note: tables.note,
            report: ImportReport::new(kind, error_path),
            next_line: file.from_line.get(),
        })
    }

    /// Stores the lines. A caller that ends this early continues at [`next_line`](Self::next_line)
    /// with another import.
    ///
    /// # Errors
    /// The file cannot be read, that of the invalid lines cannot be written, or DynamoDB failed.
    pub async fn run(&mut self) -> Result<()> {
        let path = &self.file.path;
        let mut chunks = Chunks::open(path)?;
        let file_bytes = std::fs::metadata(path)?.len();
        let mut noted_at = Instant::now();
        while let Some(chunk) = self.file.read_chunk(&mut chunks)? {
            let (left_out, lines) = self.file.divide(&chunk);
            self.writer.leave_out(left_out);
            self.writer
                .store(lines, self.file.received_at, &mut self.report)
                .await?;
            self.report.write_invalid_lines()?;
            // The chunks before the first line to import have no lines.
            self.next_line = self.file.from_line.get().max(chunks.next_line());
            if noted_at.elapsed() >= NOTE_INTERVAL {
                let percent = chunks.bytes_read().saturating_mul(100) / file_bytes.max(1);
                let last_line = self.next_line - 1;
                let file = path.display();
                (self.note)(&format!(
                    "{percent} % of {file} imported, up to line {last_line}."
                ));
                noted_at = Instant::now();
            }
        }
        Ok(())
    }

    /// The first line of which it is not known that it is stored.
    pub fn next_line(&self) -> u64 {
        self.next_line
    }

    /// What became of the lines so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }
}

impl ImportFile {
    fn source(&self) -> Cow<'_, str> {
        match &self.source {
            Some(source) => Cow::Borrowed(source),
            None => self.path.file_name().unwrap_or_default().to_string_lossy(),
        }
    }

    /// The file of the invalid lines. A dry run has one of its own, and so keeps that of a real run.
    fn error_path(&self) -> PathBuf {
        let extension = match self.mode {
            ImportMode::Store => "errors.ndjson",
            ImportMode::DryRun => "dry-run.errors.ndjson",
        };
        self.path.with_added_extension(extension)
    }

    /// Fails when the first line to import is behind the end of the file. It may be the one after the last
    /// line: an import that is interrupted at its end continues there.
    fn ensure_has_first_line(&self) -> Result<()> {
        if self.from_line == NonZeroU64::MIN {
            return Ok(());
        }
        let mut chunks = Chunks::open(&self.path)?;
        while self.read_chunk(&mut chunks)?.is_some() {}
        let last_line = chunks.next_line() - 1;
        ensure!(
            self.from_line.get() <= chunks.next_line(),
            "--from-line is {}, and {} ends with line {last_line}.",
            self.from_line,
            self.path.display()
        );
        Ok(())
    }

    fn read_chunk(&self, chunks: &mut Chunks<BufReader<File>>) -> Result<Option<Chunk>> {
        chunks.read().with_context(|| cannot_read(&self.path))
    }

    /// The lines of a chunk that are left out, and those to import.
    fn divide<'c>(&self, chunk: &'c Chunk) -> (&'c [ImportLine], &'c [ImportLine]) {
        let from_line = self.from_line.get();
        chunk.split_at(chunk.partition_point(|line| line.number < from_line))
    }

    /// Parses the lines to import before any of them is stored, and gives the valid ones to `look`.
    ///
    /// # Errors
    /// The file cannot be read, or a line has no time, also not that of `received_at`. The import does
    /// not choose a time: the next run would choose another one, and store the lines again.
    fn look_ahead(&self, kind: ImportKind, mut look: impl FnMut(&[ParsedLine<'_>])) -> Result<()> {
        let mut chunks = Chunks::open(&self.path)?;
        while let Some(chunk) = self.read_chunk(&mut chunks)? {
            let (_, lines) = self.divide(&chunk);
            let parsed = parse_lines(lines, kind, self.received_at)?;
            look(&parsed.valid);
        }
        Ok(())
    }
}

/// Fails when the path names a pipe, a device or a folder. An import opens its file several times, and
/// what one reader takes out of a pipe, the next one does not find.
fn ensure_regular_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).with_context(|| cannot_read(path))?;
    ensure!(
        metadata.is_file(),
        "{}: an import reads its file several times, and this is not a regular file. Write the lines into a file first, and \
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
            "The signals would already be expired: --received-at is {received_at}, and signals expire after {days} days \
             (SIGNAL_RETENTION_DAYS). Use a later --received-at."
        );
    }
    Ok(())
}
