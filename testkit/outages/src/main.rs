//! Measures what requests get while DynamoDB fails, and how many environments they hold:
//! `cargo run --profile bench --locked --bin outages -- --help`.
//!
//! Release programs of one or two builds run side by side, each behind a Runtime API of its own and
//! over a DynamoDB, an SQS and an S3 of its own. As on Lambda, a request goes to an idle process,
//! or else to a new one. Clients never retry.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | `options` | the command line | how anything is measured |
//! | `build` | the folders of programs that are measured | how they are measured |
//! | `conditions` | in which ways DynamoDB fails | what is sent |
//! | `request_kind` | what a request is, and where it is stored | when it is sent |
//! | `traffic` | requests at a constant rate, and what came of them | why a request fails |
//! | `stack` | one build and what it needs of AWS, for one run | what is measured |
//! | `drain` | emptying the overflow queue after a run | what is in a message |
//! | `stored` | which acknowledged requests are not stored | how they were stored |
//! | `counts` | what is counted of a build's requests | how they were sent |
//! | `measurement` | one condition, on all builds at once | how it is printed |
//! | `processors` | whether this machine was too busy | what keeps it busy |
//! | `table` | Markdown | how anything is measured |
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command: this is how it speaks"
)]

mod build;
mod conditions;
mod counts;
mod drain;
mod measurement;
mod options;
mod processors;
mod request_kind;
mod stack;
mod stored;
mod table;
mod traffic;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::build::Build;
use crate::measurement::{Measurement, PlannedRun};
use crate::options::OutageOptions;

// More than one thread: what stands for AWS answers while requests are sent.
#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = OutageOptions::parse();
    match run(&options).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &OutageOptions) -> Result<ExitCode> {
    allow_open_files();
    let runs = options.runs()?;
    if options.list {
        for run in &runs {
            println!("{}", run.label());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let builds = options.builds()?;
    let mut measured = Vec::new();
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    // A signal drops the measurement, whose processes end with the runtime.
    let is_complete = tokio::select! {
        done = measure_all(&runs, &builds, &mut measured) => {
            done?;
            true
        }
        _ = interrupted.recv() => false,
        _ = terminated.recv() => false,
    };
    print!("{}", table::render(&measured, &builds, options));
    if !is_complete {
        eprintln!(
            "error: interrupted after {} of {} runs",
            measured.len(),
            runs.len()
        );
    }
    let holds = measured.iter().all(Measurement::holds);
    if is_complete && holds {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

async fn measure_all(
    runs: &[PlannedRun],
    builds: &[Build],
    measured: &mut Vec<Measurement>,
) -> Result<()> {
    for (number, run) in (1..).zip(runs) {
        eprintln!("outages: {number} of {}: {}", runs.len(), run.label());
        let measurement = run.measure(builds).await?;
        eprintln!("outages:   {}", measurement.summary(builds));
        measured.push(measurement);
    }
    Ok(())
}

/// Raises the limit of open files. Each process of a function takes some ten of this process's
/// files, so the usual limit of 1,024 is enough for a hundred processes only.
fn allow_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if setrlimit(Resource::Nofile, raised).is_err() {
        eprintln!("outages: the limit of open files stays as it is");
    }
}
