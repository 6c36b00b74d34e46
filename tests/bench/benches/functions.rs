//! `cargo bench`: see docs/internals/performance.md. `-- --help` lists what else it does.

#![expect(clippy::print_stderr, reason = "an error is shown to the person who runs it")]

use std::process::ExitCode;

use bench::run::Options;
use clap::Parser as _;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match bench::run::run(&Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
