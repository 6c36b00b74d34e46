//! The table of costs in docs/operations.md, from counted write units and counted bytes of the log. Must not know how they are
//! counted.

use anyhow::{Result, ensure};
use sandbox::billed_log::{access_line, billed_bytes};

use crate::markdown::{Table, grouped, millions};
use crate::observation::DELAY;
use crate::process::{Mode, Process};
use crate::target::Target;
use crate::{requests, step};

// Dollars as AWS lists them for us-east-1 (2026): for a million, except the last two.
const WRITE_UNITS: f64 = 0.625;
const GATEWAY: f64 = 1.00;
const INVOCATIONS: f64 = 0.20;
const GB_SECOND_ON_ARM64: f64 = 0.000_013_333_4;
const GB_OF_LOG: f64 = 0.50;

/// The memory of a function in GB that the table assumes: the default of template.yaml.
const MEMORY: f64 = 0.25;

/// Signals in a batch and milliseconds of an invocation, which are an assumption, by the columns of the table.
const COLUMNS: [(u64, f64); 3] = [(1, 15.0), (25, 20.0), (500, 150.0)];

/// Requests that are counted. The times in their lines of log differ in their number of digits.
const REQUESTS: usize = 20;

/// By how many bytes the lines of a request may differ from run to run.
const LOG_MARGIN: u64 = 5;

/// What a million signals need, each batch with a requestIdentifier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    requests: u64,
    pub(crate) write_units: u64,
    /// Bytes of log for a request, in the log of the function and in the access log.
    log_bytes: u64,
}

/// Counts write units and bytes of log for each column.
pub(crate) async fn measure(signals: &Target) -> Result<[Cost; 3]> {
    let mut costs = <[Cost; 3]>::default();
    for (cost, (size, _)) in costs.iter_mut().zip(COLUMNS) {
        step(format!("counting write units and bytes of log, signals in a batch: {size}"));
        let event = requests::batch(usize::try_from(size)?, Some(requests::REQUEST_IDENTIFIER))?;
        let mut process = Process::start(signals, Mode::Logged).await?;
        process.dynamodb.set_delay(DELAY);
        cost.requests = 1_000_000_u64.checked_div(size).unwrap_or_default();
        for _ in 0..=REQUESTS {
            process.invoke(&event).await?;
            cost.write_units = process.dynamodb.take_counts().write_units.saturating_mul(cost.requests);
        }
        let lines = process.log().await;
        ensure!(lines.len() == REQUESTS.saturating_add(1), "a request has one line: {lines:?}");
        let of_function = lines.iter().skip(1).map(|line| billed_bytes(line)).sum::<usize>() / REQUESTS;
        cost.log_bytes = u64::try_from(of_function.saturating_add(billed_bytes(&access_line()?)))?;
    }
    Ok(costs)
}

/// What of the table is not in `page`, in a sentence.
pub(crate) fn deviation(costs: &[Cost; 3], page: &str) -> Option<String> {
    let written = page.lines().find_map(|line| line.strip_prefix("| logs, ")?.split_once(" bytes"));
    let mut written = written.map_or("", |(bytes, _)| bytes).split(" / ").filter_map(|bytes| bytes.parse().ok());
    let mut costs = costs.clone();
    for cost in &mut costs {
        let near = written.next().filter(|bytes| cost.log_bytes.abs_diff(*bytes) <= LOG_MARGIN);
        cost.log_bytes = near.unwrap_or(cost.log_bytes);
    }
    let Table(table) = table(&costs);
    (!page.contains(&table)).then(|| format!("docs/operations.md does not have this table of costs:\n{table}"))
}

/// The table: what is paid for, its price, and the dollars of each column.
pub(crate) fn table(costs: &[Cost; 3]) -> Table {
    let mut total = [0.0; 3];
    let mut table = Table::new("| price | 1 per batch | 25 per batch | 500 per batch");
    table.row("requests |", costs.each_ref().map(|cost| grouped(cost.requests)));
    let mut row = |what: &str, price: &str, dollars: &dyn Fn(&Cost, f64) -> f64| {
        let mut cells = Vec::new();
        for ((cost, (_, milliseconds)), total) in costs.iter().zip(COLUMNS).zip(&mut total) {
            let dollars = dollars(cost, milliseconds);
            *total += dollars;
            cells.push(format!("${dollars:.3}"));
        }
        table.row(&format!("{what} | {price}"), cells);
    };
    let requests = |cost: &Cost| millions(cost.requests);
    let lambda = format!("Lambda, arm64, 256 MB, {} ms", COLUMNS.map(|(_, time)| time.to_string()).join(" / "));
    let logs =
        format!("logs, {} bytes per request", costs.each_ref().map(|cost| cost.log_bytes.to_string()).join(" / "));
    row("API Gateway, HTTP API", "$1.00 per million (of up to 512 KB)", &|cost, _| requests(cost) * GATEWAY);
    row("Lambda, requests", "$0.20 per million", &|cost, _| requests(cost) * INVOCATIONS);
    row(&lambda, "$0.0000133334 per GB-second", &|cost, milliseconds| {
        requests(cost) * milliseconds * 1e3 * MEMORY * GB_SECOND_ON_ARM64
    });
    row("DynamoDB, signals", "$0.625 per million writes of 1 KB", &|_, _| WRITE_UNITS);
    row("DynamoDB, idempotency records", "the same, one per request", &|cost, _| {
        (millions(cost.write_units) - 1.0) * WRITE_UNITS
    });
    row(&logs, "$0.50 per GB", &|cost, _| requests(cost) * millions(cost.log_bytes) * 1e3 * GB_OF_LOG);
    table.row("**total** |", total.map(|dollars| format!("**${dollars:.2}**")));
    table
}
