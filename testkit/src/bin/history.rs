//! Runs a history and checks it: `cargo run --locked --bin history -- --help`.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a command: this is how it speaks")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use testkit::build_functions;
use testkit::history::{Options, run};

/// Many clients against functions that are killed, over a DynamoDB that fails; then checks that nothing acknowledged is
/// lost, nothing stored twice, and nothing there that was not sent. Ends with 1 if that does not hold.
#[derive(Debug, Parser)]
#[command(name = "history", args_override_self = true)]
struct Arguments {
    /// How many signals are to be acknowledged, at least
    #[arg(long, default_value_t = 20_000)]
    signals: u64,
    /// How many processes are killed with SIGKILL on the way [default: one for every 2,000 signals]
    #[arg(long)]
    kills: Option<u64>,
    /// The percentage of the calls to DynamoDB that are faulted
    #[arg(long, default_value_t = 10.0)]
    faults: f64,
    /// Chooses what is sent, faulted and killed; the same again for the same seed [default: a random one]
    #[arg(long)]
    seed: Option<u64>,
    /// The folder of the programs `customers` and `signals` [default: they are built without optimization]
    #[arg(long)]
    programs: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let programs = match arguments.programs.map_or_else(build_functions, Ok) {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let signals = arguments.signals.max(1);
    let kills = arguments.kills.unwrap_or(signals / 2_000);
    println!("history: --signals {signals} --kills {kills} --faults {} --seed {seed}", arguments.faults);
    let options = Options { signals, kills, faults: arguments.faults / 100.0, seed, programs };
    let summary = run(options, |message| eprintln!("history: {message}")).await;
    println!("{summary}");
    if summary.holds() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: this does not hold. The same schedule again: --seed {seed}");
    ExitCode::FAILURE
}
