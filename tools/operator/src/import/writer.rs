//! Parses and stores the lines of a chunk as the functions would. Must not know how a file is divided
//! into chunks.

mod customers;
mod signals;

use anyhow::Result;
use model::timestamp::Timestamp;

use self::customers::CustomersWriter;
use self::signals::SignalsWriter;
use super::ImportFile;
use super::chunks::Chunk;
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

/// Stores the chunks of one import.
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
    pub(super) fn new(tables: &'a Tables, file: &'a ImportFile, kind: ImportKind) -> Self {
        match kind {
            ImportKind::Customers => Self::Customers(CustomersWriter::new(tables, file)),
            ImportKind::Signals => Self::Signals(SignalsWriter::new(tables, file)),
        }
    }

    fn kind(&self) -> ImportKind {
        match self {
            Self::Customers(_) => ImportKind::Customers,
            Self::Signals(_) => ImportKind::Signals,
        }
    }

    /// Stores the valid lines of a chunk. A line without a time of its own was received at
    /// `received_at`. When it returns `Ok`, DynamoDB has acknowledged what the report counts as
    /// stored.
    pub(super) async fn store(
        &mut self,
        chunk: &Chunk,
        received_at: Option<Timestamp>,
        report: &mut ImportReport,
    ) -> Result<()> {
        let lines = parse_lines(chunk, self.kind(), received_at)?;
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
