//! `import`: customers or signals out of a file, for backfills.
//!
//! [`chunks`] cuts the file into chunks whose borders depend on its content only, so that a chunk has the same keys
//! whenever it is stored. [`checkpoint`] keeps how far the import came, beside the file. [`writer`] stores a chunk as the
//! functions would. Chunks are stored several at a time and accounted for in their order.

mod checkpoint;
mod chunks;
mod error_file;
mod summary;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use futures_util::{TryStreamExt as _, stream};
use indicatif::ProgressBar;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use self::checkpoint::{Begin, Checkpoint};
use self::chunks::Chunks;
use self::error_file::ErrorFile;
use self::summary::Summary;
use self::writer::Writer;
use crate::output::{Format, note};
use crate::progress::with_style;
use crate::stack::StackArgs;
use crate::time_args::timestamp;

/// How often the checkpoint is written while an import runs: what is done again after an interruption.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

A line of FILE is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it.
Beside FILE are written: FILE.import.json, which says how far the import came, so that running it again goes on from
there; and FILE.errors.ndjson, with the number and the errors of every line that was not taken.";

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
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
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

    /// Chunks that are stored at once. Two lines about one customer must be stored in their order, so those are not.
    fn chunks_at_once(self) -> usize {
        match self {
            Self::Customers => 1,
            Self::Signals => 4,
        }
    }
}

impl Import {
    pub(crate) async fn run(self, stack_args: &StackArgs, format: Format) -> Result<()> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => chunks::kind_of(&self.file)?,
        };
        let stack = stack_args.connect().await?;
        let table = stack.table(Writer::table(kind))?;
        let begin = Begin { account: &self.account, table, kind, received_at: self.received_at };
        let mut checkpoint = Checkpoint::open(&self.file, begin)?;
        let summary = Summary::of(&self.file, kind);
        if checkpoint.is_done() {
            note(&format!(
                "{} was imported before. To import it again, delete {}.",
                self.file.display(),
                checkpoint.name()
            ));
            return summary.print(&checkpoint, None, format);
        }
        let started = Instant::now();
        let writer = Arc::new(Writer::new(&stack, self.account.clone(), kind, &checkpoint)?);
        let bar = bar(&checkpoint);
        let outcome = store(&self.file, &writer, &mut checkpoint, &bar).await;
        bar.finish_and_clear();
        // Also what was stored before an error is not to be stored again.
        checkpoint.save()?;
        outcome?;
        summary.print(&checkpoint, Some(started.elapsed()), format)
    }
}

/// Stores what is left of the file.
async fn store(
    file: &std::path::Path,
    writer: &Arc<Writer>,
    checkpoint: &mut Checkpoint,
    bar: &ProgressBar,
) -> Result<()> {
    let mut error_file = ErrorFile::open(file, checkpoint)?;
    let chunks = Chunks::read(file, checkpoint.position())?;
    let stored = stream::unfold(chunks, async |mut chunks| chunks.next().await.map(|chunk| (chunk, chunks)))
        .map_ok(|chunk| {
            let writer = Arc::clone(writer);
            async move {
                let task = tokio::spawn(async move { writer.store(chunk).await });
                task.await.map_err(|_| anyhow!("A chunk could not be stored: this is a defect of `cargo intake`."))?
            }
        })
        .try_buffered(writer.chunks_at_once());
    let mut stored = std::pin::pin!(stored);
    let mut saved = Instant::now();
    while let Some(chunk) = stored.try_next().await? {
        error_file.add(&chunk.errors)?;
        checkpoint.account_for(&chunk, error_file.bytes());
        bar.set_position(checkpoint.position().byte);
        bar.set_message(checkpoint.stored().to_string());
        if saved.elapsed() >= CHECKPOINT_INTERVAL {
            error_file.flush()?;
            checkpoint.save()?;
            saved = Instant::now();
        }
    }
    error_file.flush()?;
    checkpoint.finish();
    Ok(())
}

fn bar(checkpoint: &Checkpoint) -> ProgressBar {
    let template = format!(
        "{{bar:30}} {{percent}} % of {{total_bytes}}, {{msg}} {} stored, {{bytes_per_sec}}, {{eta}} left",
        checkpoint.kind().as_str()
    );
    let bar =
        with_style(ProgressBar::new(checkpoint.file_bytes()), &template).with_position(checkpoint.position().byte);
    // What was done before this run says nothing about its rate.
    bar.reset_eta();
    bar
}
