//! Simulates outages: `cargo simulate --help`.
#![expect(clippy::print_stderr, reason = "a command: this is how it speaks")]

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use simulator::aws::Counts;
use simulator::cut::Cut;
use simulator::outages::{self, OutageOptions};
use simulator::output::print_line;
use simulator::run::{RunOptions, RunResult, run_seed};
use simulator::scenario::Scenario;
use simulator::story;

/// Runs the functions over a simulated AWS that fails, a run for each seed, and checks that no promise
/// is broken. Goes on until Ctrl-C. Ends with 1 when a promise is broken, and tells its story.
#[derive(Debug, Parser)]
#[command(name = "cargo simulate")]
#[command(after_help = "Examples:
  cargo simulate                      new seeds until Ctrl-C
  cargo simulate --seed 17            this seed, with the story of the first broken promise
  cargo simulate --seed 17 --shrink   a shorter run that breaks the same promise, with its story
  cargo simulate --seed 17 --without client-3,kills
                                      this seed without a client, and without kills
  cargo simulate --from 1 --seconds 60
                                      the seeds from 1 on, for a minute
  cargo simulate outages --rate 500   the table of outages at 500 requests a second")]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// One run: this seed
    #[arg(long)]
    seed: Option<u64>,
    /// The first of many seeds [default: a random one]
    #[arg(long, conflicts_with = "seed")]
    from: Option<u64>,
    /// How long to go on, in seconds [default: until Ctrl-C]
    #[arg(long, conflicts_with = "seed")]
    seconds: Option<u64>,
    /// Looks for a shorter run that breaks the same promise, some minutes long
    #[arg(long, requires = "seed")]
    shrink: bool,
    /// Leaves out of the run: after-MILLISECONDS, client-N, rule-N (of the faults), imports, erasures,
    /// kills, clocks, lost-responses
    #[arg(long, requires = "seed", value_delimiter = ',')]
    without: Vec<Cut>,
    /// Writes the calls on DynamoDB and its responses to this file, one a line: .ci/replay-calls makes
    /// them again
    #[arg(long, requires = "seed")]
    record: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Outages(OutageOptions),
    /// Prints the table of the waiting rule's choices with the row of the constants as they are
    Choices {
        /// What the row is called
        #[arg(default_value = "as they are")]
        name: String,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Outages(options)) => return exit_code(outages::print(&options)),
        Some(Command::Choices { name }) => {
            print_line(&outages::table_of_choices(&name));
            return ExitCode::SUCCESS;
        }
        None => {}
    }
    if let Some(seed) = arguments.seed {
        return run_one(seed, arguments);
    }
    let first = arguments
        .from
        .unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    let limit = arguments.seconds.map(Duration::from_secs);
    run_seeds(first, limit)
}

/// Runs one seed, as the options say.
fn run_one(seed: u64, arguments: Arguments) -> ExitCode {
    let scenario = Scenario::of_seed(seed);
    for cut in &arguments.without {
        if let Err(why) = cut.ensure_in(&scenario) {
            refuse(format!("--without {cut} leaves out nothing: {why}"));
        }
    }
    // Opened before the run, which may take minutes.
    let record = arguments.record.map(|path| match File::create(&path) {
        Ok(file) => file,
        Err(error) => refuse(format!("{} cannot be written: {error}", path.display())),
    });
    let cuts = if arguments.shrink {
        shrink(seed, arguments.without)
    } else {
        arguments.without
    };
    let result = replay(seed, cuts);
    match record {
        Some(file) => write_calls(&result, file),
        None => exit_code(result.broken.is_empty()),
    }
}

/// Ends the program, because of an option that cannot be used.
fn refuse(why: String) -> ! {
    Arguments::command()
        .error(ErrorKind::ValueValidation, why)
        .exit()
}

/// Runs seeds until a promise is broken or the time is over.
fn run_seeds(first: u64, limit: Option<Duration>) -> ExitCode {
    let began = Instant::now();
    let mut reported = began;
    let mut total = RunResult::default();
    for seed in first.. {
        let on_panic = SeedOnPanic(seed);
        let result = run_seed(seed, &RunOptions::default());
        drop(on_panic);
        let is_broken = !result.broken.is_empty();
        add(&mut total, &result);
        if is_broken {
            print_line(&summary(first, seed, &total, began));
            if replay(seed, Vec::new()).broken.is_empty() {
                print_line(&format!(
                    "Seed {seed} broke a promise, and did not when it was run again."
                ));
            }
            return ExitCode::FAILURE;
        }
        let is_over = limit.is_some_and(|limit| began.elapsed() >= limit);
        if is_over || reported.elapsed() >= Duration::from_secs(1) {
            reported = Instant::now();
            print_line(&summary(first, seed, &total, began));
        }
        if is_over {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Says which seed it was when a run panics.
struct SeedOnPanic(u64);

impl Drop for SeedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let line = format!("The same run again: cargo simulate --seed {}", self.0);
            print_line(&line);
        }
    }
}

fn add(total: &mut RunResult, result: &RunResult) {
    total.simulated += result.simulated;
    let total = &mut total.counts;
    let Counts {
        requests,
        calls,
        faulted,
        kills,
        deferred,
    } = result.counts;
    total.requests += requests;
    total.calls += calls;
    total.faulted += faulted;
    total.kills += kills;
    total.deferred += deferred;
}

fn summary(first: u64, seed: u64, total: &RunResult, began: Instant) -> String {
    let Counts {
        requests,
        calls,
        faulted,
        kills,
        deferred,
    } = total.counts;
    format!(
        "seeds {first} to {seed}, {} s: {requests} requests, {calls} calls, {faulted} of them with a fault, {kills} kills, {deferred} deferred, {} s simulated",
        began.elapsed().as_secs(),
        total.simulated.as_secs()
    )
}

fn exit_code(holds: bool) -> ExitCode {
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Writes the calls of a run to the file of --record.
fn write_calls(result: &RunResult, mut file: File) -> ExitCode {
    let lines: Vec<_> = result.recorded.iter().map(ToString::to_string).collect();
    match file.write_all(lines.join("\n").as_bytes()) {
        Ok(()) => exit_code(result.broken.is_empty()),
        Err(error) => {
            eprintln!("error: the file of --record cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Looks for what a seed can do without, and prints how far it is.
fn shrink(seed: u64, first: Vec<Cut>) -> Vec<Cut> {
    let options = RunOptions {
        cuts: first.clone(),
        ..RunOptions::default()
    };
    if run_seed(seed, &options).broken.is_empty() {
        return first;
    }
    simulator::shrink::shrink(seed, first, |result, cuts| {
        print_line(&format!(
            "{} requests: {}",
            result.counts.requests,
            same_run(seed, cuts)
        ));
    })
}

/// The command that makes the same run.
fn same_run(seed: u64, cuts: &[Cut]) -> String {
    let mut command = format!("cargo simulate --seed {seed}");
    let mut separator = " --without ";
    for cut in cuts {
        command = format!("{command}{separator}{cut}");
        separator = ",";
    }
    command
}

/// Runs a seed, and tells the story of the first broken promise.
fn replay(seed: u64, cuts: Vec<Cut>) -> RunResult {
    let began = Instant::now();
    let options = RunOptions {
        cuts,
        keeps_all: true,
    };
    let result = run_seed(seed, &options);
    print_line(&format!(
        "{}, trace {:016x}",
        summary(seed, seed, &result, began),
        result.trace
    ));
    let Some(broken) = result.broken.first() else {
        return result;
    };
    print_line(&format!(
        "\nSeed {seed} breaks a promise: {}",
        story::tell(broken, &result.lines)
    ));
    if result.broken.len() > 1 {
        print_line(&format!("{} more are broken.", result.broken.len() - 1));
    }
    let same_run = same_run(seed, &options.cuts);
    print_line(&format!("The same run again: {same_run}"));
    result
}
