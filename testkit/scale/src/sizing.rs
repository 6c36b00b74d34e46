//! What rates of signals need, by arithmetic, as a Markdown table. Must not know of the simulation.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use crate::report::grouped;

/// Signals in a second.
const RATES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Seconds of a month of 30 days.
const MONTH: usize = 30 * 24 * 60 * 60;

/// Bytes of a stored signal, and of its event: docs/operations.md.
const STORED_BYTES: usize = 400;
const EVENT_BYTES: usize = 600;

/// Entries of a `PutEvents`: its maximum.
const ENTRIES: usize = 10;

/// A way of sending signals, with the columns of the cost table of docs/operations.md.
struct Batches {
    /// Signals in a request.
    size: usize,
    /// Milliseconds of a request.
    milliseconds: usize,
    /// The cents of a million signals.
    cents: usize,
}

/// What each rate needs, with the prices of docs/operations.md.
///
/// # Errors
/// When `operations` has no cost table in the known form.
pub fn table(operations: &str) -> Result<String> {
    let batches = cost(operations)?;
    let mut table = String::from("| |");
    for rate in RATES {
        let _ = write!(table, " {} a second |", grouped(rate));
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for Batches { size, milliseconds, cents } in batches {
        let requests = |rate: usize| rate.div_ceil(size);
        row(&mut table, &format!("requests a second, {size} signals each"), requests);
        let concurrency = |rate: usize| requests(rate).saturating_mul(milliseconds).div_ceil(1_000);
        row(&mut table, &format!("Lambda concurrency, {milliseconds} ms each"), concurrency);
        row(&mut table, "idempotency records a second", requests);
        let dollars = |rate: usize| rate.saturating_mul(MONTH / 100).saturating_mul(cents) / 1_000_000;
        row(&mut table, "dollars a month, without storage", dollars);
    }
    row(&mut table, "partitions of Signals, subjects evenly used", |rate| rate.div_ceil(1_000));
    let gigabytes = |rate: usize| rate.saturating_mul(MONTH).saturating_mul(STORED_BYTES) / 1_000_000_000;
    row(&mut table, "GB stored in a month, 400 bytes each", gigabytes);
    row(&mut table, "delivery: PutEvents calls a second", |rate| rate.div_ceil(ENTRIES));
    row(&mut table, "delivery: KB a second to Firehose, 600 bytes each", |rate| {
        rate.saturating_mul(EVENT_BYTES) / 1_000
    });
    Ok(table)
}

fn row(table: &mut String, name: &str, cell: impl Fn(usize) -> usize) {
    let _ = write!(table, "| {name} |");
    for rate in RATES {
        let _ = write!(table, " {} |", grouped(cell(rate)));
    }
    table.push('\n');
}

/// The columns of the cost table but those of requests with one signal.
fn cost(operations: &str) -> Result<Vec<Batches>> {
    let section = operations.split("\n## Cost\n").nth(1).context("docs/operations.md has no section Cost")?;
    let cells = |has: &str| {
        let line = section.lines().find(|line| line.starts_with('|') && line.contains(has));
        line.map(|line| line.split('|').skip(3).collect::<Vec<_>>())
            .with_context(|| format!("the cost table of docs/operations.md has no row with {has}"))
    };
    let (sizes, totals) = (cells("per batch")?, cells("**total**")?);
    let digits = |cell: &str| cell.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok();
    let columns = sizes.iter().zip(totals).filter_map(|(size, total)| Some((digits(size)?, digits(total)?)));
    let columns: Vec<(usize, usize)> = columns.filter(|(size, _)| *size > 1).collect();
    let batches = columns.into_iter().map(|(size, cents)| Batches { size, milliseconds: milliseconds(size), cents });
    Ok(batches.collect())
}

/// The duration of a request that docs/operations.md assumes.
fn milliseconds(size: usize) -> usize {
    if size < 100 { 20 } else { 150 }
}
