//! `import`: stores the customers or signals of a file.
//!
//! [`input`] is a file or standard input; [`chunks`] cuts it into chunks whose borders depend only on its content, so that a
//! chunk has the same keys whenever it is stored. [`checkpoint`] records the progress in a file beside it. [`writer`] stores
//! a chunk as the functions would; [`mod@line`] reads what a line has beyond what a client sends. Several chunks are stored at
//! once; their results are recorded in the order of the input.

mod checkpoint;
mod chunks;
mod error_file;
mod input;
mod interruption;
mod line;
mod outcome;
mod summary;
mod writer;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use futures_util::{StreamExt as _, TryStreamExt as _};
use indicatif::ProgressBar;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};

use self::checkpoint::Checkpoint;
use self::chunks::Position;
use self::error_file::ErrorFile;
use self::input::{Chunks, Input, read_ahead};
use self::interruption::{CtrlC, how_to_continue};
use self::outcome::Counts;
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
  gunzip -c signals.ndjson.gz | cargo intake --stack intake-prod import --account shop -
  jq -c '.[]' customers.json | cargo intake --stack intake-prod import --account shop -

Each line is one customer ({\"customerId\": ..., \"customerData\": {...}}) or one signal, as a client would send it, or a line
of `signals list --all --json` or `customers show --json`. A line's own receivedAt or updatedAt wins over --received-at. A customer
of whom a newer update is stored is skipped; a signal that would already be expired is not stored.

The import writes two files beside FILE: FILE.import.json, its checkpoint, from which it continues when you run it again;
and FILE.errors.ndjson, with the number and the errors of each rejected line. Standard input has no checkpoint. Ctrl-C stops
the import after the lines that are being stored and prints the command that continues it.";

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

    /// The file, with one JSON object on each line; - reads standard input
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
        let input = Input::new(&self.file);
        let (kind, chunks) = input.detect_kind(self.kind, input.read(Position::default())?)?;
        // Customers do not expire, so their import needs no retention.
        let retention = if kind == Kind::Signals { stack.retention()? } else { None };
        if let Some(received_at) = self.received_at {
            ensure_not_expired(received_at, retention)?;
        }
        let table = stack.table(kind.table())?;
        let mut checkpoint = match input {
            Input::File(_) => Checkpoint::open(&self, kind, table)?,
            Input::Stdin => Checkpoint::unsaved(&self, kind, table),
        };
        let mut errors = ErrorFile::open(self.error_path(&checkpoint), checkpoint.state.error_bytes)?;
        if let (true, Some(path)) = (checkpoint.state.done, &checkpoint.path) {
            let (file, path) = (self.file.display(), path.display());
            note(&format!("{file} is already imported. To import it again, delete {path}."));
        } else {
            // An interrupted import may be continued too late.
            ensure_not_expired(checkpoint.state.received_at, retention)?;
            let position = checkpoint.state.position;
            let chunks = if position == Position::default() { chunks } else { input.read(position)? };
            let writer = Writer::new(stack, &checkpoint.state, retention);
            store_or_stop(writer, chunks, &mut checkpoint, &mut errors).await?;
        }
        summary::print(&checkpoint.state, &errors.path, format)?;
        let Counts { stored, rejected, expired, skipped } = checkpoint.state.counts;
        ensure!(stored + skipped > 0 || rejected + expired == 0, "No line of {} was stored.", input.name());
        Ok(())
    }

    fn error_path(&self, checkpoint: &Checkpoint) -> PathBuf {
        match checkpoint.path {
            Some(_) => self.file.with_added_extension("errors.ndjson"),
            None => format!("import-{}.errors.ndjson", checkpoint.state.import).into(),
        }
    }
}

/// Stores the chunks until the last one or Ctrl-C, and saves the checkpoint.
async fn store_or_stop(
    writer: Writer,
    chunks: Chunks,
    checkpoint: &mut Checkpoint,
    errors: &mut ErrorFile,
) -> Result<()> {
    let ctrl_c = CtrlC::new(bar(checkpoint));
    let (outcome, is_abandoned) = tokio::select! {
        outcome = store(writer, chunks, &ctrl_c, checkpoint, errors) => (outcome, false),
        () = ctrl_c.pressed_twice() => (Ok(()), true),
    };
    // Also after an error, so that the chunks before it are not stored again.
    checkpoint.save(errors)?;
    if checkpoint.state.done {
        return outcome;
    }
    let how_to_continue = how_to_continue(checkpoint, outcome.is_ok() && !is_abandoned);
    match outcome {
        Ok(()) => bail!("The import was interrupted. {how_to_continue}"),
        Err(error) => {
            note(&how_to_continue);
            Err(error)
        }
    }
}

async fn store(
    writer: Writer,
    chunks: Chunks,
    ctrl_c: &CtrlC,
    checkpoint: &mut Checkpoint,
    errors: &mut ErrorFile,
) -> Result<()> {
    let (begin, mut saved, writer) = (Instant::now(), Instant::now(), Arc::new(writer));
    let stored = read_ahead(chunks)
        .take_until(ctrl_c.pressed_once())
        .map_ok(|chunk| {
            let writer = Arc::clone(&writer);
            async move { tokio::spawn(async move { writer.store(chunk).await }).await.context("A task failed")? }
        })
        .try_buffered(checkpoint.state.kind.concurrent_chunks());
    let mut stored = pin!(stored);
    while let Some(chunk) = stored.try_next().await? {
        errors.append(&chunk.errors)?;
        checkpoint.state.record(&chunk, errors.bytes);
        ctrl_c.bar.set_position(checkpoint.state.position.byte);
        ctrl_c.bar.set_message(checkpoint.state.counts.stored.to_string());
        if saved.elapsed() >= CHECKPOINT_INTERVAL {
            checkpoint.save(errors)?;
            saved = Instant::now();
        }
    }
    if !ctrl_c.was_pressed() {
        checkpoint.state.done = true;
        ctrl_c.bar.println(format!("Done in {:.1} s.", begin.elapsed().as_secs_f64()));
    }
    Ok(())
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

fn bar(Checkpoint { path, state, .. }: &Checkpoint) -> ProgressBar {
    let stored = format!("{{msg}} {} stored, {{bytes_per_sec}}", state.kind.as_str());
    if path.is_none() {
        return with_style(ProgressBar::new_spinner(), &format!("{{spinner}} {{bytes}}, {stored}"));
    }
    let template = format!("{{bar:30}} {{percent}} % of {{total_bytes}}, {stored}, {{eta}} left");
    let bar = with_style(ProgressBar::new(state.file.bytes), &template).with_position(state.position.byte);
    // What an earlier run stored says nothing about the rate of this one.
    bar.reset_eta();
    bar
}
