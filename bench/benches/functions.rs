//! Measures the functions and the reference implementations and prints the table of goals. `-- --help` lists what else.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is what it is run for")]

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use bench::baseline::Baseline;
use bench::count::Instructions;
use bench::options::{Options, Workload};
use bench::prices::Price;
use bench::process::{Mode, Process};
use bench::target::{self, Targets};
use bench::{delivery, document, growth, measure, prices, report, requests};
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
    let functions = target::build_functions()?;
    if options.profile.is_some() {
        return profile(options, &functions).await;
    }
    let counts = measure::counts(&functions).await?;
    let deliveries = delivery::counts(&functions.deliver).await?;
    let baseline = Baseline::from_counts(&[&counts[..], &deliveries].concat())?;
    for (name, count) in &baseline.instructions {
        println!("{name}: {count} instructions");
    }
    let prices = prices::measure(&functions.signals).await?;
    if !options.guard {
        everything(options, &functions, counts, deliveries, &prices).await?;
    }
    if options.accept {
        baseline.write()?;
        document::write(document::OPERATIONS, &[("costs", report::costs(&prices))])?;
        return Ok(true);
    }
    let mut deviations = baseline.deviations(&Baseline::read()?);
    deviations.extend(report::costs_deviation(&prices, &document::read(document::OPERATIONS)?));
    for deviation in &deviations {
        println!("{deviation}");
    }
    if !deviations.is_empty() {
        println!("If this is intended: cargo bench --package bench --bench functions -- --guard --accept");
    }
    Ok(deviations.is_empty())
}

async fn everything(
    options: &Options,
    functions: &Targets,
    counts: [(&str, Instructions); 3],
    deliveries: [(&str, Instructions); 2],
    prices: &[Price],
) -> Result<()> {
    let (stock, python) = (target::build_stock()?, target::install_python()?);
    let goals = report::goals(&measure::everything(functions, counts, &stock, &python).await?);
    let deliveries = delivery::table(deliveries, delivery::rates(&functions.deliver).await?);
    let points = growth::measure(&functions.signals).await?;
    let (growth_table, price_table) = (report::growth(&points), report::prices(prices));
    println!("\n{goals}\n{growth_table}\n{deliveries}\n{price_table}\n{}", report::costs(prices));
    if options.accept {
        growth::draw(&points, &document::plot())?;
        let tables = [("goals", goals), ("growth", growth_table), ("delivery", deliveries), ("prices", price_table)];
        document::write(document::PERFORMANCE, &tables)?;
    }
    Ok(())
}

async fn profile(options: &Options, functions: &Targets) -> Result<bool> {
    let (target, event) = match options.of.context("--profile needs --of")? {
        Workload::Customer => (&functions.customers, requests::customer()?),
        Workload::Signal => (&functions.signals, requests::batch(1, None)?),
        Workload::Batch => (&functions.signals, requests::batch(100, None)?),
    };
    let mut process = Process::start(target, Mode { callgrind: true, tls: true, ..Mode::default() }).await?;
    for _ in 0..options.requests {
        process.invoke(&event).await?;
    }
    let counts = process.dynamodb.take_counts();
    let counted = process.profile(options.profile.as_deref()).await?;
    println!("{} instructions, {} of them SHA-256; {counts:?}", counted.instructions, counted.sha256());
    Ok(true)
}
