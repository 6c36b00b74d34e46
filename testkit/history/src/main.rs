//! Runs a history and checks it: `cargo run --locked --bin history -- --help`.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a command: this is how it speaks")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fault_proxy::Fault;
use history::{Options, Outage, attacks, run};
use testkit::build_functions;
use tokio::signal::unix::{SignalKind, signal};

/// The share of the calls to DynamoDB that are faulted independently, beside the windows in which many fail.
const FAULTS: f64 = 0.1;

/// Many clients, half of which never retry, against functions that scale as on Lambda and are killed, over a DynamoDB, an SQS and an
/// S3 that fail; then checks that nothing acknowledged is lost, nothing stored twice or changed, and nothing there that was not sent.
/// Ends with 1 if that does not hold.
#[derive(Debug, Parser)]
#[command(name = "history", args_override_self = true)]
struct Arguments {
    /// How many signals are to be acknowledged, at least
    #[arg(long, default_value_t = 20_000)]
    signals: u64,
    /// How many processes are killed with SIGKILL on the way [default: one for every 2,000 signals; none with --outage]
    #[arg(long)]
    kills: Option<u64>,
    /// One outage of DynamoDB of this many seconds in place of the windows
    #[arg(long, value_name = "SECONDS")]
    outage: Option<u64>,
    /// Measures instead which share of what clients send that never retry is lost in outages of DynamoDB, while SQS and S3 are
    /// available: the table of docs/reliability.md, in some 13 minutes
    #[arg(long)]
    attack: bool,
    /// Chooses what is sent, faulted and killed; the same again for the same seed [default: a random one]
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
    let work = async {
        if arguments.attack { attack(&programs, seed).await } else { history(arguments, programs.clone(), seed).await }
    };
    let mut terminated = signal(SignalKind::terminate()).expect("the process may listen to SIGTERM");
    tokio::select! {
        code = work => code,
        // To drop the work ends its processes, which would look for their Runtime API for ever.
        _ = terminated.recv() => ExitCode::FAILURE,
    }
}

async fn history(arguments: Arguments, programs: PathBuf, seed: u64) -> ExitCode {
    let signals = arguments.signals.max(1);
    let outage = arguments.outage.map(|seconds| Outage {
        fault: Fault::ServiceUnavailable,
        table: None,
        is_flapping: false,
        after: Duration::from_secs(20),
        lasts: Duration::from_secs(seconds),
        before_end: Duration::ZERO,
    });
    let kills = arguments.kills.unwrap_or(if outage.is_some() { 0 } else { signals / 2_000 });
    let lasting = arguments.outage.map(|seconds| format!(" --outage {seconds}")).unwrap_or_default();
    println!("history: --signals {signals} --kills {kills}{lasting} --seed {seed}");
    let options = Options { signals, kills, faults: FAULTS, outage, replaced_after: None, rate: None, seed, programs };
    let summary = match run(options, |message| eprintln!("history: {message}")).await {
        Ok(summary) => summary,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!("{summary}");
    if summary.holds() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: this does not hold. The same schedule again: --seed {seed}");
    ExitCode::FAILURE
}

async fn attack(programs: &Path, seed: u64) -> ExitCode {
    let mut result = ExitCode::SUCCESS;
    println!("| DynamoDB | requests | lost | 503s | processes at once |\n|---|---|---|---|---|");
    for (name, options) in attacks(programs, seed) {
        let rate = options.rate.expect("an attack has a rate");
        match run(options, move |message| eprintln!("{name}: {message}")).await {
            Ok(summary) => {
                eprintln!("{summary}");
                let ([batches, updates], [of_batches, of_updates]) = (summary.requests, summary.unavailable);
                let (what, requests, failures) =
                    if rate.of_updates { ("updates", updates, of_updates) } else { ("batches", batches, of_batches) };
                let (rate, lost, failures) = (rate.per_second, summary.lost_percent(), failures.all);
                let processes = summary.calls.processes.at_once;
                println!("| {name} | {requests} {what} at {rate}/s | {lost:.1} % | {failures} | {processes} |");
                if lost > 0.0 || !summary.holds() {
                    result = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                eprintln!("error: {error:#}");
                return ExitCode::FAILURE;
            }
        }
    }
    result
}
