//! The goals of the functions beside what was measured. Must not know how anything is measured.

use anyhow::{Context as _, Result};

use crate::comparison::Comparison;
use crate::costs::Cost;
use crate::instructions::Instructions;
use crate::markdown::{Table, grouped, megabytes, millions, milliseconds, ratio, thousands};
use crate::observation::{observe, throttled};
use crate::target::Functions;
use crate::{Counted, requests, step};

/// The rows of what callgrind counted.
pub(crate) fn instructions(counted: &Counted, Comparison([intake, stock, ..]): &Comparison) -> Result<Table> {
    let [(_, customer), (_, signal), ..] = counted;
    let programs = intake.program.as_ref().zip(stock.program.as_ref()).context("both programs are counted")?;
    let [of_customer, of_signal] = [0, 1].map(|index| (programs.0.warm[index], programs.1.warm[index]));
    let cold = |counted: &Instructions| format!("{:.2} M", millions(counted.cold()));
    let first = |Instructions { first, warm, .. }: &Instructions| {
        let all = ratio(first.instructions, warm.instructions);
        format!("{all} times; {} without SHA-256", ratio(first.without_sha256(), warm.without_sha256()))
    };
    let beside = |(ours, stock): (u64, u64)| format!("{}, {} of it", thousands(ours), ratio(ours, stock));
    let mut table = Table::new("what | goal | measured");
    table.row("instructions, exec through first customer", ["5.0 M", &cold(customer)]);
    table.row("the same, a batch of one signal", ["5.0 M", &cold(signal)]);
    table.row("first customer to a warm one", ["1.5 times", &first(customer)]);
    table.row("first batch of one signal to a warm one", ["1.5 times", &first(signal)]);
    let goal = "450 k, and 0.75 of the stock SDK's";
    table.row("instructions, warm customer, without SHA-256", [goal, &beside(of_customer)]);
    let goal = "42 k, and 0.6 of the stock SDK's";
    table.row("instructions, signal in a warm batch of 100, without SHA-256", [goal, &beside(of_signal)]);
    Ok(table)
}

/// Adds the rows of what is left to measure to `table`.
pub(crate) async fn others(
    mut table: Table,
    Functions { customers, signals, .. }: &Functions,
    Comparison([intake, ..]): &Comparison,
    [.., of_500]: &[Cost; 3],
) -> Result<Table> {
    step("measuring calls, the largest body and throttled calls");
    let customer = observe(customers, &requests::customer()?).await?.calls;
    let batch = observe(signals, &requests::batch(100, None)?).await?.calls;
    let identified = observe(signals, &requests::batch(100, Some(requests::REQUEST_IDENTIFIER))?).await?.calls;
    let largest = observe(signals, &requests::largest_batch()?).await?.memory;
    let throttled = milliseconds(throttled(customers).await?, 0);
    let (observed, size) = (&intake.batch_of_500, &intake.program.as_ref().context("Intake is counted")?.size);
    let duplicates = if size.duplicates.is_empty() { "none".to_owned() } else { size.duplicates.join(", ") };
    table.row("500 signals at 5 ms a call", ["16 ms, at most 16 connections", &observed.time()]);
    table.row("a throttled call of a customer adds, median", ["30 ms", &throttled]);
    table.row("peak memory, 500 signals", ["12 MB", &megabytes(observed.memory)]);
    table.row("peak memory, a body of 4 MiB", ["64 MB", &megabytes(largest)]);
    table.row("binary, with the client of the overflow queue", ["6.5 MB", &megabytes(size.bytes)]);
    table.row("crates", ["175", &size.crates.to_string()]);
    table.row("duplicates of hyper, rustls or http", ["none", &duplicates]);
    table.row("calls of a warm customer", ["1", &customer.to_string()]);
    let calls = format!("{batch}; {identified}");
    table.row("calls of a warm batch of 100; with a requestIdentifier", ["4; 5", &calls]);
    let units = grouped(of_500.write_units);
    table.row("write units for a million signals in batches of 500", ["1,000,000 to 1,003,000", &units]);
    Ok(table)
}
