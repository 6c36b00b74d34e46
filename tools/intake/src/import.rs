//! `import`: stores the customers or signals of a file.
//!
//! [`chunks`] cuts the file into chunks whose borders depend only on its content, so that a chunk has the same keys whenever
//! it is stored. [`writer`] stores a chunk as the functions would; [`mod@line`] reads what a line has beyond what a client
//! sends. [`checkpoint`] records the progress in a file beside it: an import that ends in the middle continues from there when
//! it is run again, and stores the chunks after it again under the same keys.

mod checkpoint;
mod chunks;
mod line;
mod outcome;
mod writer;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::account::AccountId;
use model::timestamp::Timestamp;

use self::checkpoint::Checkpoint;
use self::chunks::{Chunks, Kind, cannot_read};
use self::line::MAX_AHEAD;
use self::writer::Writer;
use crate::output::{Format, NOTE_INTERVAL, note};
use crate::stack::{CUSTOMERS, SIGNALS, Stack};
use crate::time_args::timestamp;

/// How often the checkpoint is saved: what was stored since then is stored again after an interruption.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`; the first line decides which. A line's own receivedAt or updatedAt wins
over --received-at. A customer of whom a newer update is stored is skipped; a signal that would already be expired is not stored.

The import writes two files beside FILE: FILE.import.json, its progress, from which it continues when you run it again, also
after Ctrl-C; and FILE.errors.ndjson, with the number and the errors of each rejected line.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The account of the customers or signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// The time at which lines without a time of their own arrived, such as 2026-11-20 or 7d (ago) [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    received_at: Option<Timestamp>,

    /// The file, with one JSON object on each line
    file: PathBuf,
}

impl Import {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let name = self.file.display();
        // Customers do not expire, so their import needs no retention.
        let (kind, table, retention) = match chunks::kind_of(&self.file)? {
            kind @ Kind::Customers => (kind, stack.table(CUSTOMERS)?, None),
            kind @ Kind::Signals => (kind, stack.table(SIGNALS)?, stack.retention()?),
        };
        let mut checkpoint = Checkpoint::open(&self.file, &self.account, self.received_at, kind, table)?;
        if checkpoint.state.done {
            note(&format!("{name} is already imported. To import it again, delete {}.", checkpoint.path.display()));
        } else {
            ensure_usable(checkpoint.state.source.received_at, retention, Timestamp::now())?;
            let writer = Writer::new(stack, &checkpoint.state, retention);
            let stored = self.store(&writer, &mut checkpoint).await;
            stored.inspect_err(|_| note("To continue, run the same command again."))?;
        }
        checkpoint.print(format)?;
        ensure!(checkpoint.state.outcomes.is_success(), "No line of {name} was stored.");
        Ok(())
    }

    /// Stores the chunks that the checkpoint does not count.
    async fn store(&self, writer: &Writer, checkpoint: &mut Checkpoint) -> Result<()> {
        // Before anything is stored: the keys of the signals are made of it.
        checkpoint.save()?;
        let mut chunks = Chunks::open(&self.file, checkpoint.state.position)?;
        let (mut saved_at, mut noted_at) = (Instant::now(), Instant::now());
        let bytes = std::fs::metadata(&self.file)?.len();
        loop {
            let chunk = chunks.read().with_context(|| cannot_read(&self.file))?;
            if chunk.lines.is_empty() {
                break;
            }
            writer.store(&chunk, &mut checkpoint.state.outcomes).await?;
            checkpoint.state.position = chunk.end;
            if saved_at.elapsed() >= CHECKPOINT_INTERVAL {
                checkpoint.save()?;
                saved_at = Instant::now();
            }
            if noted_at.elapsed() >= NOTE_INTERVAL {
                let percent = checkpoint.state.position.byte.saturating_mul(100) / bytes.max(1);
                note(&format!("{percent} % of {} imported.", self.file.display()));
                noted_at = Instant::now();
            }
        }
        checkpoint.state.done = true;
        checkpoint.save()
    }
}

/// Fails when no line may have this time, or DynamoDB would delete its signals at once.
fn ensure_usable(received_at: Timestamp, retention: Option<Duration>, now: Timestamp) -> Result<()> {
    ensure!(received_at <= now.plus(MAX_AHEAD), "--received-at is {received_at}: more than five minutes ahead.");
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
