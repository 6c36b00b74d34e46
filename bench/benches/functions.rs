//! Measures the functions and the yardsticks, and prints the table of goals. `-- --help` lists what else it does.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is what it is run for")]

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use bench::count::Instructions;
use bench::figures::Figures;
use bench::options::{Options, Request};
use bench::running::{Mode, Running};
use bench::subject::{self, Subjects};
use bench::{document, growth, measure, prices, report, requests};
use clap::Parser as _;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<bool> {
    let functions = subject::build_functions()?;
    if options.profile.is_some() {
        return profile(options, &functions).await;
    }
    let counts = measure::counts(&functions).await?;
    let figures = Figures::of(&counts)?;
    for (name, count) in &figures.instructions {
        println!("{name}: {count} instructions");
    }
    if !options.guard {
        everything(options, &functions, counts).await?;
    }
    if options.accept {
        figures.accept()?;
        return Ok(true);
    }
    let deviations = figures.deviations(&Figures::committed()?);
    for deviation in &deviations {
        println!("{deviation}");
    }
    if !deviations.is_empty() {
        println!("If that is meant, accept it: cargo bench --package bench --bench functions -- --guard --accept");
    }
    Ok(deviations.is_empty())
}

async fn everything(options: &Options, functions: &Subjects, counts: [(&str, Instructions); 3]) -> Result<()> {
    let (stock, python) = (subject::build_stock()?, subject::install_python()?);
    let goals = report::goals(&measure::everything(functions, counts, &stock, &python).await?);
    let points = growth::measure(&functions.signals).await?;
    let (growth_table, price_table) =
        (report::growth(&points), report::prices(&prices::measure(&functions.signals).await?));
    println!("\n{goals}\n{growth_table}\n{price_table}");
    if options.accept {
        growth::draw(&points, &document::plot())?;
        document::write(&[("goals", goals), ("growth", growth_table), ("prices", price_table)])?;
    }
    Ok(())
}

async fn profile(options: &Options, functions: &Subjects) -> Result<bool> {
    let (subject, event) = match options.of.context("--of says what is profiled")? {
        Request::Customer => (&functions.customers, requests::customer()?),
        Request::Signal => (&functions.signals, requests::batch(1, None)?),
        Request::Batch => (&functions.signals, requests::batch(100, None)?),
    };
    let mut running = Running::start(subject, Mode { counted: true, tls: true, at_once: None }).await?;
    for _ in 0..options.requests {
        running.invoke(&event).await?;
    }
    let counts = running.dynamodb.take_counts();
    let counted = running.profile(options.profile.as_deref()).await?;
    println!("{} instructions, {} of them SHA-256; {counts:?}", counted.instructions, counted.sha256());
    Ok(true)
}
