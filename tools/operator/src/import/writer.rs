//! Parses and stores lines as the functions would. Must not know how a file is divided
//! into chunks.

mod customers;
mod signals;

use anyhow::Result;
use model::timestamp::Timestamp;

use self::customers::CustomersWriter;
use self::signals::SignalsWriter;
use super::ImportFile;
use super::chunks::ImportLine;
use super::kind::ImportKind;
use super::line::parse_lines;
use super::report::{ImportReport, LineOutcome};
use crate::Tables;

/// How many customers are stored, or moments of signals are read, at once.
const CONCURRENCY: usize = 32;

/// Whether an import stores lines, or only finds out what it would store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    Store,
    DryRun,
}

/// Stores the lines of one import, chunk by chunk.
pub(super) enum Writer<'a> {
    Customers(CustomersWriter<'a>),
    Signals(SignalsWriter<'a>),
}

/// A line that DynamoDB has answered for.
struct FinishedLine {
    number: u64,
    outcome: LineOutcome,
}

impl<'a> Writer<'a> {
    /// Looks at the lines to import before any of them is stored.
    ///
    /// # Errors
    /// The file cannot be read, or a line has no time.
    pub(super) fn new(tables: &'a Tables, file: &'a ImportFile, kind: ImportKind) -> Result<Self> {
        Ok(match kind {
            ImportKind::Customers => Self::Customers(CustomersWriter::new(tables, file)?),
            ImportKind::Signals => Self::Signals(SignalsWriter::new(tables, file)?),
        })
    }

    fn kind(&self) -> ImportKind {
        match self {
            Self::Customers(_) => ImportKind::Customers,
            Self::Signals(_) => ImportKind::Signals,
        }
    }

    /// Notes lines before the first one to import.
    pub(super) fn leave_out(&mut self, lines: &[ImportLine]) {
        match self {
            Self::Customers(_) => {}
            Self::Signals(writer) => writer.leave_out(lines),
        }
    }

    /// Stores the valid ones of these lines. A line without a time of its own was received at
    /// `received_at`. When it returns `Ok`, DynamoDB has acknowledged what the report counts as
    /// stored.
    pub(super) async fn store(
        &mut self,
        lines: &[ImportLine],
        received_at: Option<Timestamp>,
        report: &mut ImportReport,
    ) -> Result<()> {
        let lines = parse_lines(lines, self.kind(), received_at)?;
        for line in lines.invalid {
            report.add(line.number, LineOutcome::Invalid(line.errors));
        }
        let finished = match self {
            Self::Customers(writer) => writer.store(&lines.valid, report).await?,
            Self::Signals(writer) => writer.store(&lines.valid, report).await?,
        };
        for line in finished {
            report.add(line.number, line.outcome);
        }
        Ok(())
    }
}
