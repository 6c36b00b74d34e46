//! Judges the `data` of signals by event contracts: one JSON Schema (2020-12) for each type,
//! `DIR/<type>.json`. Must not know where signals come from.
//!
//! A program of its own: it reads signals as lines of JSON, so that `cargo dev` and `cargo intake`
//! start as fast as without it, and so that numbers keep their digits here (`arbitrary_precision`
//! of `serde_json`) and cost nothing elsewhere.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command: this is how it speaks"
)]

mod infer;
mod judge;

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::judge::{Contracts, Verdict};

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

/// A signal as far as it is judged.
#[derive(Deserialize)]
struct Signal {
    #[serde(rename = "type")]
    of: String,
    data: Value,
    /// What names the signal to the reader of `check`.
    #[serde(default)]
    name: String,
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Judge { dir } => judge(&dir),
        Command::Check { dir } => check(&dir),
        Command::Infer { dir, force } => {
            infer::infer(signals(), &dir, force).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// The signals on standard input.
fn signals() -> impl Iterator<Item = Result<Signal>> {
    io::stdin()
        .lock()
        .lines()
        .map(|line| serde_json::from_str(&line?).context("a line of the input is not a signal"))
}

fn judge(dir: &Path) -> Result<ExitCode> {
    let mut contracts = Contracts::read(dir)?;
    // Says that every contract can be used.
    println!("ready");
    for signal in signals() {
        let Signal { of, data, .. } = signal?;
        println!("{}", serde_json::to_string(&contracts.judge(&of, &data))?);
        io::stdout().flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(dir: &Path) -> Result<ExitCode> {
    let mut contracts = Contracts::read(dir)?;
    let [mut kept, mut broken, mut none] = [0_u64; 3];
    for signal in signals() {
        let Signal { of, data, name } = signal?;
        match contracts.judge(&of, &data) {
            Verdict::Ok => kept += 1,
            Verdict::None => none += 1,
            Verdict::Broken { breaks } => {
                broken += 1;
                println!("{}", json!({"signal": name, "type": of, "breaks": breaks}));
            }
        }
    }
    eprintln!(
        "{kept} signals keep their contract, {broken} break it, {none} have a type without one."
    );
    Ok(if broken > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
