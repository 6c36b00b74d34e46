//! A run of many clients against functions that scale and are killed, over a DynamoDB that fails;
//! and what must hold at its end.
//!
//! In the manner of Jepsen: clients record their requests and the responses, and the checker of
//! [`consistency`] compares that with what is stored.
//!
//! | module | is for |
//! |---|---|
//! | `options`, `run`, `summary` | what a run is told; its steps; what is reported of it |
//! | `deployment`, `clock` | the functions and what surrounds them; a clock of each process |
//! | `windows`, `faults` | when DynamoDB, SQS and S3 fail; how single calls fail |
//! | `traffic` | all clients of a run, and the kills |
//! | `clients`, `batches`, `updates`, `imports` | sending it, and recording what is received |
//! | `drain` | the drain of the overflow queue |
//! | `log_check` | reading what is logged |
//!
//! `cargo run --locked --bin history -- --help`
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command: this is how it speaks"
)]

mod batches;
mod clients;
mod clock;
mod deployment;
mod drain;
mod faults;
mod imports;
mod log_check;
mod options;
mod run;
mod summary;
mod traffic;
mod updates;
mod windows;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use testkit::build_functions;
use tokio::signal::unix::{SignalKind, signal};

use crate::options::RunOptions;
use crate::run::run;

/// Many clients, half of which never retry, against functions that scale as on Lambda and are
/// killed, over a DynamoDB, an SQS and an S3 that fail; then checks that nothing acknowledged is
/// lost, nothing stored twice or changed, and nothing there that was not sent. Ends with 1 if that
/// does not hold.
#[derive(Debug, Parser)]
#[command(name = "history", args_override_self = true)]
struct Arguments {
    /// How many signals are to be acknowledged, at least
    #[arg(long, default_value_t = 20_000)]
    signals: u64,
    /// How many processes are killed with SIGKILL on the way [default: one for every 2,000 signals;
    /// none with --outage]
    #[arg(long)]
    kills: Option<u64>,
    /// One outage of DynamoDB of this many seconds in place of the windows
    #[arg(long, value_name = "SECONDS")]
    outage: Option<u64>,
    /// Chooses what is sent, faulted and killed; the same again for the same seed [default: a
    /// random one]
    #[arg(long)]
    seed: Option<u64>,
}

// More than one thread: what stands for AWS answers while the clients are busy.
#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let programs = match build_functions() {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let mut terminated =
        signal(SignalKind::terminate()).expect("the process may listen to SIGTERM");
    tokio::select! {
        code = run_and_report(arguments, programs, seed) => code,
        // The work is dropped here, and with it its processes, which would otherwise look for their
        // Runtime API for ever.
        _ = terminated.recv() => ExitCode::FAILURE,
    }
}

async fn run_and_report(arguments: Arguments, programs: PathBuf, seed: u64) -> ExitCode {
    let signals = arguments.signals.max(1);
    let outage = arguments.outage.map(Duration::from_secs);
    let default_kills = match outage {
        Some(_) => 0,
        None => signals / 2_000,
    };
    let kills = arguments.kills.unwrap_or(default_kills);
    let outage_option = match arguments.outage {
        Some(seconds) => format!(" --outage {seconds}"),
        None => String::new(),
    };
    let schedule = format!("--signals {signals} --kills {kills}{outage_option} --seed {seed}");
    println!("history: {schedule}");
    let options = RunOptions {
        signals,
        kills,
        outage,
        seed,
        programs,
    };
    let progress = |message: &str| eprintln!("history: {message}");
    let summary = match run(options, progress).await {
        Ok(summary) => summary,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}\n{:#?}", summary.report, summary.counts);
    for line in summary.leaks.iter().take(5) {
        println!("a key or a value is logged: {line}");
    }
    for event in summary.missing_events() {
        println!("the run did not contain {event}");
    }
    if summary.holds() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: this does not hold. The same schedule again: {schedule}");
    ExitCode::FAILURE
}
