//! `import`: customers or signals out of a file, for backfills.
//!
//! [`blocks`] cuts the file into blocks whose borders depend on its content only, so that a block has the same keys
//! whenever it is stored. [`journal`] keeps how far the import came, beside the file. [`writer`] stores a block as the
//! functions would. Blocks are stored several at a time and accounted for in their order.

mod blocks;
mod faults;
mod journal;
mod summary;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use futures_util::{TryStreamExt as _, stream};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use shared::model::account::AccountId;
use shared::model::timestamp::Timestamp;

use self::blocks::Blocks;
use self::faults::FaultFile;
use self::journal::{Begin, Journal};
use self::summary::Summary;
use self::writer::Writer;
use crate::error::Error;
use crate::moment::moment;
use crate::output::{Output, note};
use crate::progress::with_style;
use crate::stack::Place;

/// How often the journal is written while an import runs: what is done again after an interruption.
const JOURNAL_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

A line of FILE is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it.
Beside FILE are written: FILE.import.json, which says how far the import came, so that running it again goes on from
there; and FILE.faults.ndjson, with the number and the faults of every line that was not taken.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// Whose customers or signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// What the lines are [default: what the first one is]
    #[arg(long, value_enum)]
    kind: Option<Kind>,

    /// When they are said to have arrived [default: when the import begins]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    received_at: Option<Timestamp>,

    /// The file, one JSON value a line
    file: PathBuf,
}

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Customers,
    Signals,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Signals => "signals",
        }
    }

    /// Blocks that are stored at once. Two lines about one customer must be stored in their order, so those are not.
    fn blocks_at_once(self) -> usize {
        match self {
            Self::Customers => 1,
            Self::Signals => 4,
        }
    }
}

impl Import {
    pub(crate) async fn run(self, place: &Place, output: Output) -> Result<(), Error> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => blocks::kind_of(&self.file)?,
        };
        let stack = place.connect().await?;
        let table = stack.table(Writer::table(kind))?;
        let begin = Begin { account: &self.account, table, kind, received_at: self.received_at };
        let mut journal = Journal::open(&self.file, begin)?;
        let summary = Summary::of(&self.file, kind);
        if journal.is_done() {
            note(&format!(
                "{} was imported before. To import it again, delete {}.",
                self.file.display(),
                journal.name()
            ));
            return summary.print(&journal, None, output);
        }
        let started = Instant::now();
        let writer = Arc::new(Writer::new(&stack, self.account.clone(), kind, &journal)?);
        let bar = bar(&journal);
        let outcome = store(&self.file, &writer, &mut journal, &bar).await;
        bar.finish_and_clear();
        // Also what was stored before an error is not to be stored again.
        journal.save()?;
        outcome?;
        summary.print(&journal, Some(started.elapsed()), output)
    }
}

/// Stores what is left of the file.
async fn store(
    file: &std::path::Path,
    writer: &Arc<Writer>,
    journal: &mut Journal,
    bar: &ProgressBar,
) -> Result<(), Error> {
    let mut faults = FaultFile::open(file, journal)?;
    let blocks = Blocks::read(file, journal.position())?;
    let stored = stream::unfold(blocks, async |mut blocks| blocks.next().await.map(|block| (block, blocks)))
        .map_ok(|block| {
            let writer = Arc::clone(writer);
            async move {
                let task = tokio::spawn(async move { writer.store(block).await });
                task.await
                    .map_err(|_| Error::new("A block could not be stored: this is a defect of `cargo intake`."))?
            }
        })
        .try_buffered(writer.blocks_at_once());
    let mut stored = std::pin::pin!(stored);
    let mut saved = Instant::now();
    while let Some(block) = stored.try_next().await? {
        faults.add(&block.faults)?;
        journal.account_for(&block, faults.bytes());
        bar.set_position(journal.position().byte);
        bar.set_message(journal.stored().to_string());
        if saved.elapsed() >= JOURNAL_INTERVAL {
            faults.flush()?;
            journal.save()?;
            saved = Instant::now();
        }
    }
    faults.flush()?;
    journal.finish();
    Ok(())
}

fn bar(journal: &Journal) -> ProgressBar {
    let template = format!(
        "{{bar:30}} {{percent}} % of {{total_bytes}}, {{msg}} {} stored, {{bytes_per_sec}}, {{eta}} left",
        journal.kind().as_str()
    );
    let bar = with_style(ProgressBar::new(journal.file_bytes()), &template).with_position(journal.position().byte);
    // What was done before this run says nothing about its rate.
    bar.reset_eta();
    bar
}
