//! Judges the `data` of signals by event contracts: one JSON Schema (2020-12) for each type,
//! `DIR/<type>.json`. Must not know where signals come from.
//!
//! It is a program of its own, which `cargo dev` and `cargo intake` start when a developer or an
//! operator asks for it. They build and start faster without it. And `arbitrary_precision` of
//! `serde_json`, by which numbers keep all their digits here, would make every other program
//! slower.
//!
//! # Standard input and output
//!
//! Every command reads signals from standard input, one JSON object on each line:
//!
//! ```json
//! {"type":"purchase","data":{"price":12.5},"name":"shop#c1 2026-11-20T22:16:40Z"}
//! ```
//!
//! `type` is the eventType or the stepNodeId. `name` names the signal to the reader of `check`, and
//! may be left out.
//!
//! `judge DIR`, which `cargo dev --contracts DIR` starts:
//!
//! 1. It writes the line `ready` when it has read the event contracts, and all of them can be used.
//! 2. For each line of the input, it writes one line, in the same order: a [`Verdict`] in JSON. The
//!    verdict on a line that cannot be read is [`Verdict::Broken`].
//!
//! ```json
//! {"contract":"ok"}
//! {"contract":"broken","breaks":[{"pointer":"/price","message":"a sentence without the value"}]}
//! {"contract":"none"}
//! ```
//!
//! `check DIR`, which `cargo intake contracts check` starts, writes a line for each signal that
//! breaks its event contract, and the counts to standard error:
//!
//! ```json
//! {"signal":"shop#c1 2026-11-20T22:16:40Z","type":"purchase","breaks":[{"pointer":"/price","message":"…"}]}
//! ```
//!
//! `infer DIR`, which `cargo intake contracts infer` starts, writes event contracts into the
//! folder, and a line for people about each.
//!
//! The exit code is 0, or 1 if `check` has found a signal that breaks its event contract, or 2
//! after an error, which is on standard error.
#![expect(clippy::print_stderr, reason = "a command: this is how it speaks")]

mod file_name;
mod infer;
mod judge;

use std::io::{self, BufRead, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Error, Result, ensure};
use clap::Parser;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::judge::{Contracts, Verdict};

/// The first line that `judge` writes, when every event contract can be used.
const READY: &str = "ready";

/// Judges the data of signals, or writes contracts that they keep. Reads one signal on each line:
/// {"type":"purchase","data":{}}
#[derive(Debug, Parser)]
#[command(name = "contracts", version)]
enum Command {
    /// Answer each line with a line: whether the signal keeps the contract of its type. A contract
    /// that changes is read again
    Judge { dir: PathBuf },
    /// Print the signals that break the contracts. The exit code is 1 if there is one
    Check { dir: PathBuf },
    /// Write a contract for each type of the signals, and replace those that are there with --force
    Infer {
        dir: PathBuf,
        #[arg(long)]
        force: bool,
    },
}

/// A line of the input: a signal, as far as it is judged.
#[derive(Deserialize)]
struct SignalLine {
    r#type: String,
    /// The text is not parsed yet. If a client sent JSON that cannot be judged, the verdict says
    /// so.
    data: Box<RawValue>,
    /// What names the signal to the reader of `check`.
    #[serde(default)]
    name: String,
}

fn main() -> ExitCode {
    let input = io::stdin().lock();
    let mut output = io::stdout().lock();
    match run(Command::parse(), input, &mut output) {
        Ok(code) => code,
        Err(error) if is_closed_output(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command, input: impl BufRead, output: &mut impl Write) -> Result<ExitCode> {
    match command {
        Command::Judge { dir } => judge(&dir, input, output)?,
        Command::Infer { dir, force } => infer::infer(read_signals(input), &dir, force, output)?,
        Command::Check { dir } => {
            let broken = check(&dir, input, output)?;
            if broken > 0 {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_closed_output(error: &Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(is_closed)
}

/// Whether the reader of the output has what it wants, as `head` does.
fn is_closed(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

/// Reads the signals, one on each line.
fn read_signals(input: impl BufRead) -> impl Iterator<Item = Result<SignalLine>> {
    input.lines().map(|line| {
        let line = line.context("the input cannot be read")?;
        serde_json::from_str(&line).context("a line of the input is not a signal")
    })
}

/// Writes a verdict for each line, also for one that cannot be read: if a verdict were left out,
/// the next one would be taken for it.
fn judge(dir: &Path, input: impl BufRead, output: &mut impl Write) -> Result<()> {
    let mut contracts = Contracts::read(dir)?;
    writeln!(output, "{READY}")?;
    output.flush()?;
    for signal in read_signals(input) {
        let verdict = match signal {
            Ok(signal) => contracts.judge(&signal.r#type, &signal.data),
            Err(error) => Verdict::unjudged(format!("{error:#}")),
        };
        let verdict = serde_json::to_string(&verdict)?;
        writeln!(output, "{verdict}")?;
        output.flush()?;
    }
    Ok(())
}

/// Prints the signals that break their contracts, and returns how many there are. When the reader
/// of the output closes it, the others are not counted.
fn check(dir: &Path, input: impl BufRead, output: &mut impl Write) -> Result<u64> {
    let mut contracts = Contracts::read(dir)?;
    ensure!(
        !contracts.is_empty(),
        "{} has no contract: a file TYPE.json for each type.",
        dir.display()
    );
    let mut kept = 0;
    let mut broken = 0;
    let mut without_contract = 0;
    for signal in read_signals(input) {
        let signal = signal?;
        let verdict = contracts.judge(&signal.r#type, &signal.data);
        let breaks = match verdict {
            Verdict::Kept => {
                kept += 1;
                continue;
            }
            Verdict::NoContract => {
                without_contract += 1;
                continue;
            }
            Verdict::Broken { breaks } => breaks,
        };
        broken += 1;
        let line = json!({
            "signal": signal.name,
            "type": signal.r#type,
            "breaks": breaks,
        });
        let written = writeln!(output, "{line}");
        if written.as_ref().is_err_and(is_closed) {
            return Ok(broken);
        }
        written.context("the result cannot be written")?;
    }
    eprintln!(
        "{} keep their contract, {broken} break it, {without_contract} have a type without one.",
        counted(kept)
    );
    Ok(broken)
}

/// A number of signals, in words.
fn counted(number: u64) -> String {
    match number {
        1 => "1 signal".to_owned(),
        number => format!("{number} signals"),
    }
}

#[cfg(test)]
mod tests;
