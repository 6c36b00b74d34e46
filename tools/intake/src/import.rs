//! `import`: stores the customers or signals of a file.
//!
//! [`chunks`] cuts the file into chunks whose borders depend only on its content, so that a chunk has the same keys whenever
//! it is stored. [`writer`] stores a chunk as the functions would; [`mod@line`] reads what a line has beyond what a client
//! sends. [`checkpoint`] records the progress in a file beside it, in the order of the lines: an import that ends in the middle
//! continues from there when it is run again, and stores the lines after it again under the same keys.

mod checkpoint;
mod chunks;
mod line;
mod outcome;
mod writer;

use std::path::PathBuf;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::ProgressBar;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use self::checkpoint::Checkpoint;
use self::writer::Writer;
use crate::output::{Format, note};
use crate::progress::with_style;
use crate::stack::{CUSTOMERS, SIGNALS, Stack};
use crate::time_args::timestamp;

/// How often the checkpoint is saved: what was stored since then is stored again after an interruption.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  cargo intake --stack intake-prod import --account shop signals.ndjson
  cargo intake --stack intake-prod import --account shop --received-at 2026-01-01 signals-of-last-year.ndjson

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`. A line's own receivedAt or updatedAt wins over --received-at. A customer
of whom a newer update is stored is skipped; a signal that would already be expired is not stored.

The import writes two files beside FILE: FILE.import.json, its checkpoint, from which it continues when you run it again, also
after Ctrl-C; and FILE.errors.ndjson, with the number and the errors of each rejected line.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The account of the customers or signals
    #[arg(long, value_name = "NAME")]
    account: AccountId,

    /// What the lines are [default: the kind of the first line]
    #[arg(long, value_enum)]
    kind: Option<Kind>,

    /// The time at which lines without a time of their own arrived, such as 2026-11-20 or 7d (ago) [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    received_at: Option<Timestamp>,

    /// The file, with one JSON object on each line
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

    fn table(self) -> &'static str {
        match self {
            Self::Customers => CUSTOMERS,
            Self::Signals => SIGNALS,
        }
    }

    /// How many chunks are stored at once. Two lines about one customer must be stored in their order.
    fn concurrent_chunks(self) -> usize {
        match self {
            Self::Customers => 1,
            Self::Signals => 4,
        }
    }
}

impl Import {
    pub(crate) async fn run(self, stack: &Stack, format: Format) -> Result<()> {
        let name = self.file.display();
        let detected = chunks::detect_kind(&self.file)?;
        let kind = self.kind.or(detected).with_context(|| {
            format!("Cannot tell from the first line of {name} whether it holds customers or signals. Add --kind.")
        })?;
        // Customers do not expire, so their import needs no retention.
        let retention = if kind == Kind::Signals { stack.retention()? } else { None };
        let mut checkpoint = Checkpoint::open(&self, kind, stack.table(kind.table())?)?;
        if checkpoint.state.done {
            let path = checkpoint.path.display();
            note(&format!("{name} is already imported. To import it again, delete {path}."));
        } else {
            ensure_not_expired(checkpoint.state.received_at, retention)?;
            checkpoint.save()?;
            let writer = Writer::new(stack, &checkpoint.state, retention);
            if let Err(error) = self.store(&writer, &mut checkpoint).await {
                note("To continue, run the same command again.");
                return Err(error);
            }
        }
        checkpoint.print(format)?;
        ensure!(checkpoint.state.counts.is_success(), "No line of {name} was stored.");
        Ok(())
    }

    /// Stores the chunks that the checkpoint does not count, several at once.
    async fn store(&self, writer: &Writer, checkpoint: &mut Checkpoint) -> Result<()> {
        let (begin, mut saved, bar) = (Instant::now(), Instant::now(), self.bar(checkpoint));
        let chunks = chunks::read(&self.file, checkpoint.state.position)?;
        let stored = stream::iter(chunks)
            .map(|chunk| async { writer.store(chunk?).await })
            .buffered(checkpoint.state.kind.concurrent_chunks());
        let mut stored = pin!(stored);
        while let Some((end, outcomes)) = stored.try_next().await? {
            checkpoint.record(end, &outcomes)?;
            bar.set_position(end.byte);
            bar.set_message(checkpoint.state.counts.stored.to_string());
            if saved.elapsed() >= CHECKPOINT_INTERVAL {
                checkpoint.save()?;
                saved = Instant::now();
            }
        }
        checkpoint.state.done = true;
        checkpoint.save()?;
        bar.println(format!("Done in {:.1} s.", begin.elapsed().as_secs_f64()));
        Ok(())
    }

    fn bar(&self, checkpoint: &Checkpoint) -> ProgressBar {
        let kind = checkpoint.state.kind.as_str();
        let template = format!(
            "{{bar:30}} {{percent}} % of {{total_bytes}}, {{msg}} {kind} stored, {{bytes_per_sec}}, {{eta}} left"
        );
        let bytes = self.file.metadata().map_or(0, |metadata| metadata.len());
        let bar = with_style(ProgressBar::new(bytes), &template).with_position(checkpoint.state.position.byte);
        // What an earlier run stored says nothing about the rate of this one.
        bar.reset_eta();
        bar
    }
}

/// Fails when DynamoDB would delete signals of that time at once.
fn ensure_not_expired(received_at: Timestamp, retention: Option<Duration>) -> Result<()> {
    if let Some(retention) = retention {
        let days = retention.as_secs() / 86_400;
        ensure!(
            received_at.plus(retention) > Timestamp::now(),
            "The signals would already be expired: --received-at is {received_at}, and signals are kept for {days} days \
             (SIGNAL_RETENTION_DAYS). Use a later --received-at."
        );
    }
    Ok(())
}
