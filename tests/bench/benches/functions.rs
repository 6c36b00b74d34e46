//! `cargo bench`: see docs/internals/performance.md. `-- --help` lists what else it does.

use std::process::ExitCode;

use anyhow::Result;
use bench::run::BenchOptions;
use clap::Parser as _;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<ExitCode> {
    let options = BenchOptions::parse();
    let holds = bench::run::run(&options).await?;
    if !holds {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
