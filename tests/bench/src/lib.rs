//! What a function costs, counted from outside: the guard, the comparison with other implementations, and the growth from 1
//! to 500 signals.
//!
//! A function runs as Lambda runs it: a process that takes events from a Runtime API and writes to a DynamoDB, both from
//! `testkit/sandbox`. Callgrind counts instructions, because they repeat where time does not.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`options`] | the command line | how it is carried out |
//! | `requests` | the events that are measured | what they cost |
//! | `target` | the programs: how they are built and started | what is measured |
//! | `process` | one process, alone or under callgrind | what is measured |
//! | `profile` | what callgrind counted in a run | what was run |
//! | `instructions` | instructions of a start, a first and a warm request | which goals there are |
//! | `observation` | time, memory, calls and connections | which goals there are |
//! | `binary_size` | bytes and crates of a program | what it does |
//! | `comparison`, `goals`, `costs` | one table each: what is measured for it, and its rows | how it is measured |
//! | `baseline` | the committed counts, and what differs from them | how they are counted |
//! | `markdown` | tables, numbers, and the pages that tables are written to | what they say |

#![expect(clippy::indexing_slicing, reason = "only JSON is indexed, and a missing member is null")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is what it is run for")]

mod baseline;
mod binary_size;
mod comparison;
mod costs;
mod goals;
mod instructions;
mod markdown;
mod observation;
pub mod options;
mod process;
mod profile;
mod requests;
mod target;

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context as _, Result};
use sandbox::fake_targets::FakeTargets;

use crate::baseline::Baseline;
use crate::comparison::Comparison;
use crate::costs::Cost;
use crate::instructions::{Instructions, WARM};
use crate::markdown::{OPERATIONS, PERFORMANCE, Table, millions};
use crate::options::{Options, Workload};
use crate::process::{Mode, Process};
use crate::target::{Functions, References};

/// The instructions that are compared with the baseline, by their names there.
type Counted = [(&'static str, Instructions); 5];

/// Warm batches of records, of which the mean is taken: each has as many as hundreds of requests.
const WARM_OF_RECORDS: u64 = 2;

/// Does what the command line says; `false` when counts or costs differ from the committed ones.
///
/// # Errors
/// When something cannot be built or measured.
pub async fn run(options: &Options) -> Result<bool> {
    if options.profile.is_some() {
        return profile(options).await;
    }
    let references = if options.guard { None } else { Some(References::build()?) };
    let functions = Functions::build()?;
    let counted = count(&functions).await?;
    let costs = costs::measure(&functions.signals).await?;
    let mut tables = Vec::new();
    if let Some(references) = &references {
        tables.extend(measure(&functions, references, &counted, &costs).await?);
    }
    step("done");
    let baseline = Baseline::from_counts(&counted)?;
    for (name, count) in &baseline.instructions {
        println!("{name}: {count} instructions");
    }
    for (_, Table(table)) in &tables {
        println!("\n{table}");
    }
    if options.accept {
        baseline.write()?;
        markdown::write(PERFORMANCE, &tables)?;
        markdown::write(OPERATIONS, &[("costs", costs::table(&costs))])?;
        return Ok(true);
    }
    let mut deviations = baseline.deviations(&Baseline::read()?);
    deviations.extend(costs::deviation(&costs, &markdown::read(OPERATIONS)?));
    if !deviations.is_empty() {
        println!("{}", deviations.join("\n"));
        println!("If this is intended: cargo bench -- --guard --accept");
    }
    Ok(deviations.is_empty())
}

async fn count(Functions { customers, signals, deliver }: &Functions) -> Result<Counted> {
    step("counting instructions of one customer (1 of 5)");
    let customer = instructions::count(customers, &requests::customer()?, WARM).await?;
    step("counting instructions of a batch of one signal (2 of 5)");
    let signal = instructions::count(signals, &requests::batch(1, None)?, WARM).await?;
    step("counting instructions of a batch of 100 signals (3 of 5)");
    let batch = instructions::count(signals, &requests::batch(100, None)?, WARM).await?;
    step("counting instructions of the delivery to the bus (4 of 5)");
    let (targets, records) = (FakeTargets::start().await?, requests::records()?);
    let bus = deliver.delivering_to("EVENT_BUS_NAME", &targets.endpoint());
    let bus = instructions::count(&bus, &records, WARM_OF_RECORDS).await?;
    step("counting instructions of the delivery to the lake (5 of 5)");
    let lake = deliver.delivering_to("DELIVERY_STREAM_NAME", &targets.endpoint());
    let lake = instructions::count(&lake, &records, WARM_OF_RECORDS).await?;
    Ok([
        ("customers", customer),
        ("signals, 1 a batch", signal),
        ("signals, 100 a batch", batch),
        ("deliver, 500 to the bus", bus),
        ("deliver, 500 to the lake", lake),
    ])
}

/// The tables of docs/performance.md, by their names there.
async fn measure(
    functions: &Functions,
    references: &References,
    counted: &Counted,
    costs: &[Cost; 3],
) -> Result<[(&'static str, Table); 4]> {
    let comparison = Comparison::measure(functions, references, counted).await?;
    let goals = goals::instructions(counted, &comparison)?;
    let goals = goals::others(goals, functions, &comparison, costs).await?;
    let growth = observation::growth(&functions.signals).await?;
    let mut delivery = Table::new("target | instructions a record");
    let [.., bus, lake] = counted;
    for (target, (_, counted)) in [("bus", bus), ("lake", lake)] {
        let of_record = millions(counted.warm.instructions) * 1e3 / f64::from(requests::RECORDS);
        delivery.row(target, [format!("{of_record:.0} k")]);
    }
    Ok([("goals", goals), ("comparison", comparison.table()), ("growth", growth), ("delivery", delivery)])
}

async fn profile(options: &Options) -> Result<bool> {
    let Functions { customers, signals, .. } = Functions::build()?;
    let (target, event) = match options.of.context("--profile needs --of")? {
        Workload::Customer => (customers, requests::customer()?),
        Workload::Signal => (signals, requests::batch(1, None)?),
        Workload::Batch => (signals, requests::batch(100, None)?),
    };
    let mut process = Process::start(&target, Mode::Callgrind).await?;
    for _ in 0..options.requests {
        process.invoke(&event).await?;
    }
    let counts = process.dynamodb.take_counts();
    let counted = process.profile(options.profile.as_deref()).await?;
    println!("{} instructions, {} of them SHA-256; {counts:?}", counted.instructions, counted.sha256);
    Ok(true)
}

/// Says on standard error what is done next, after how many seconds.
fn step(what: impl Display) {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    eprintln!("[{:3} s] {what}", BEGAN.elapsed().as_secs());
}
