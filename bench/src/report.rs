//! The tables of a run, as Markdown. Must not know how anything is measured.

use std::fmt::Write as _;

use crate::growth::{Point, megabytes, milliseconds};
use crate::measure::{Measured, Reference};
use crate::observation::Observation;
use crate::prices::{GATEWAY, GB_SECOND, INVOCATIONS, LOG_GB, Price, WRITE_UNITS};

/// One row.
struct Row {
    what: &'static str,
    goal: &'static str,
    measured: String,
    stock: String,
    python: String,
}

/// The table of goals, as Markdown.
pub fn goals(measured: &Measured) -> String {
    let mut table =
        String::from("| what | goal | measured | stock SDK in Rust | Python, boto3 |\n|---|---|---|---|---|\n");
    for row in rows(measured) {
        // Writing to a String cannot fail.
        let Row { what, goal, measured, stock, python } = row;
        let _ = writeln!(table, "| {what} | {goal} | {measured} | {stock} | {python} |");
    }
    table
}

fn rows(measured: &Measured) -> Vec<Row> {
    let mut rows = instructions(measured);
    rows.extend(time_and_memory(measured));
    rows.extend(size_and_calls(measured));
    rows
}

fn instructions(measured: &Measured) -> Vec<Row> {
    let (customers, signals, batch) = (&measured.customer, &measured.signal, &measured.batch);
    let references = |of: fn(&Reference) -> String| (of(&measured.stock), of(&measured.python));
    let row = |what, goal, measured, (stock, python)| Row { what, goal, measured, stock, python };
    let per_signal = batch.warm_without_sha256() / 100;
    let stock_per_signal = measured.stock.batch.warm_without_sha256() / 100;
    vec![
        row(
            "instructions from exec through the first acknowledged customer, over TLS",
            "6 M",
            millions(customers.cold()),
            references(|reference| millions(reference.customer.cold())),
        ),
        row("the same, a batch of one signal", "6 M", millions(signals.cold()), (String::new(), String::new())),
        row(
            "the first customer to a warm one, over TLS",
            "1.5 times",
            times(customers.first, customers.warm),
            references(|reference| times(reference.customer.first, reference.customer.warm)),
        ),
        row(
            "the first batch of one signal to a warm one, over TLS",
            "1.5 times",
            times(signals.first, signals.warm),
            (String::new(), String::new()),
        ),
        row(
            "instructions a signal, warm, batch of 100, without SHA-256",
            "50 k, and 0.6 of the stock SDK's",
            format!("{}, {} of it", thousands(per_signal), ratio(per_signal, stock_per_signal)),
            references(|reference| thousands(reference.batch.warm_without_sha256() / 100)),
        ),
        row(
            "SHA-256 a signal beside that",
            "",
            thousands(batch.warm_sha256 / 100),
            references(|reference| thousands(reference.batch.warm_sha256 / 100)),
        ),
        row(
            "one customer, warm, without SHA-256",
            "450 k",
            thousands(customers.warm_without_sha256()),
            references(|reference| thousands(reference.customer.warm_without_sha256())),
        ),
        row(
            "SHA-256 of it beside that",
            "",
            thousands(customers.warm_sha256),
            references(|reference| thousands(reference.customer.warm_sha256)),
        ),
    ]
}

fn time_and_memory(measured: &Measured) -> Vec<Row> {
    let of = |what, goal, measured: String, stock: String, python: String| Row { what, goal, measured, stock, python };
    let [one, at_once] = measured.throughput;
    let [ours, stock, python] = [&measured.batch_of_500, &measured.stock.batch_of_500, &measured.python.batch_of_500];
    let duration = |observed: &Observation| {
        format!("{:.0} ms, {} connections", milliseconds(observed.duration), observed.connections)
    };
    vec![
        of(
            "500 signals at 5 ms a call",
            "25 ms, at most 16 connections",
            duration(ours),
            duration(stock),
            duration(python),
        ),
        of(
            "batches of 25 signals a second, 8 invocations at once and one",
            "",
            format!("{at_once:.0} and {one:.0}: {:.1} times", at_once / one),
            String::new(),
            String::new(),
        ),
        of(
            "a throttled call of a customer adds, median",
            "30 ms",
            format!("{:.0} ms", milliseconds(measured.fault_latency)),
            String::new(),
            String::new(),
        ),
        of("peak memory, 500 signals", "16 MB", memory(ours.memory), memory(stock.memory), memory(python.memory)),
        of("peak memory, a body of 4 MiB", "64 MB", memory(measured.largest.memory), String::new(), String::new()),
    ]
}

fn size_and_calls(measured: &Measured) -> Vec<Row> {
    let of = |what, goal, measured: String, stock: String| Row { what, goal, measured, stock, python: String::new() };
    let duplicates =
        |duplicates: &[String]| if duplicates.is_empty() { "none".to_owned() } else { duplicates.join(", ") };
    let (size, stock) = (&measured.size, &measured.stock_size);
    let [customer, batch, named] = measured.calls;
    vec![
        of("bootstrap binary", "6.5 MB", memory(size.bytes), memory(stock.bytes)),
        of("crates", "175", size.crates.to_string(), stock.crates.to_string()),
        of("duplicates of hyper, rustls or http", "none", duplicates(&size.duplicates), duplicates(&stock.duplicates)),
        of("calls of a warm customer", "1", customer.to_string(), String::new()),
        of(
            "calls of a warm batch of 100; with a requestIdentifier",
            "4; 5",
            format!("{batch}; {named}"),
            String::new(),
        ),
        of(
            "write units for a million signals in batches of 500",
            "1,000,000 to 1,003,000",
            grouped(measured.units_of_500.saturating_mul(2_000)),
            String::new(),
        ),
    ]
}

/// What the write units and requests of a million signals cost, as Markdown.
pub fn prices(prices: &[Price]) -> String {
    let mut table = String::from(
        "| signals a batch | requestIdentifier | write units | DynamoDB | API Gateway and Lambda requests | together |\n\
         |---|---|---|---|---|---|\n",
    );
    for price in prices {
        let (size, named, units) =
            (price.signals, if price.identified { "yes" } else { "no" }, grouped(price.write_units));
        let storage = megabytes(price.write_units) * WRITE_UNITS;
        let requests = megabytes(price.requests()) * (GATEWAY + INVOCATIONS);
        let sum = storage + requests;
        let _ = writeln!(table, "| {size} | {named} | {units} | ${storage:.3} | ${requests:.3} | ${sum:.3} |");
    }
    table
}

/// Signals in a batch and milliseconds of an invocation, which are an assumption, by the columns of the table of costs.
const COLUMNS: [(u64, f64); 3] = [(1, 15.0), (25, 20.0), (500, 150.0)];

/// The memory of a function in GB that the table of costs assumes: the default of template.yaml.
const MEMORY: f64 = 0.25;

/// By how many bytes the lines of a request may differ from run to run: the times in them have more or fewer digits.
const LOG_MARGIN: u64 = 5;

/// What of the table of costs is not in `page`, in a sentence.
pub fn costs_deviation(prices: &[Price], page: &str) -> Option<String> {
    let written = page.lines().find_map(|line| line.strip_prefix("| logs, ")?.split_once(" bytes"));
    let mut written = written.map_or("", |(bytes, _)| bytes).split(" / ").filter_map(|bytes| bytes.parse().ok());
    let mut prices: Vec<_> = of_costs(prices).cloned().collect();
    for price in &mut prices {
        price.log_bytes =
            written.next().filter(|bytes| price.log_bytes.abs_diff(*bytes) <= LOG_MARGIN).unwrap_or(price.log_bytes);
    }
    let table = costs(&prices);
    (!page.contains(&table)).then(|| format!("docs/operations.md does not have this table of costs:\n{table}"))
}

/// The prices of which the table of costs consists.
fn of_costs(prices: &[Price]) -> impl Iterator<Item = &Price> {
    prices.iter().filter(|price| price.identified && COLUMNS.iter().any(|(size, _)| *size == price.signals))
}

/// The whole sum for a million signals, as Markdown.
pub fn costs(prices: &[Price]) -> String {
    let columns: Vec<_> = of_costs(prices).collect();
    let rows = cost_rows(&columns);
    let mut table =
        String::from("| | price | 1 per batch | 25 per batch | 500 per batch |\n|---|---|---|---|---|\n| requests | |");
    for price in &columns {
        let _ = write!(table, " {} |", grouped(price.requests()));
    }
    for (what, unit, dollars) in &rows {
        let _ = write!(table, "\n| {what} | {unit} |");
        for dollars in dollars {
            let _ = write!(table, " ${dollars:.3} |");
        }
    }
    table.push_str("\n| **total** | |");
    for column in 0..columns.len() {
        let total: f64 = rows.iter().filter_map(|(_, _, dollars)| dollars.get(column)).sum();
        let _ = write!(table, " **${total:.2}** |");
    }
    table + "\n"
}

/// What is paid for, its price, and the dollars of each column.
fn cost_rows(columns: &[&Price]) -> [(String, &'static str, Vec<f64>); 6] {
    let each = |dollars: &dyn Fn(&Price) -> f64| columns.iter().map(|price| dollars(price)).collect();
    let requests = |price: &Price| megabytes(price.requests());
    let seconds = |price: &Price| {
        let milliseconds =
            COLUMNS.iter().find(|(size, _)| *size == price.signals).map_or(0.0, |(_, duration)| *duration);
        requests(price) * milliseconds * 1_000.0
    };
    let durations = COLUMNS.map(|(_, duration)| duration.to_string()).join(" / ");
    let bytes: Vec<_> = columns.iter().map(|price| price.log_bytes.to_string()).collect();
    let named = |what: &str| what.to_owned();
    [
        (
            named("API Gateway, HTTP API"),
            "$1.00 per million (of up to 512 KB)",
            each(&|price| requests(price) * GATEWAY),
        ),
        (named("Lambda, requests"), "$0.20 per million", each(&|price| requests(price) * INVOCATIONS)),
        (
            format!("Lambda, arm64, 256 MB, {durations} ms"),
            "$0.0000133334 per GB-second",
            each(&|price| seconds(price) * MEMORY * GB_SECOND),
        ),
        (named("DynamoDB, signals"), "$0.625 per million writes of 1 KB", each(&|_| WRITE_UNITS)),
        (
            named("DynamoDB, idempotency records"),
            "the same, one per request",
            each(&|price| (megabytes(price.write_units) - 1.0) * WRITE_UNITS),
        ),
        (
            format!("logs, {} bytes per request", bytes.join(" / ")),
            "$0.50 per GB",
            each(&|price| requests(price) * megabytes(price.log_bytes) * 1_000.0 * LOG_GB),
        ),
    ]
}

/// How cost grows, as Markdown.
pub fn growth(points: &[Point]) -> String {
    let mut table = String::from("| signals | time | peak memory | calls | connections |\n|---|---|---|---|---|\n");
    for Point { signals, observation } in points {
        let (duration, memory, calls) =
            (milliseconds(observation.duration), memory(observation.memory), observation.counts.calls());
        let _ = writeln!(table, "| {signals} | {duration:.1} ms | {memory} | {calls} | {} |", observation.connections);
    }
    table
}

fn millions(count: u64) -> String {
    format!("{:.2} M", megabytes(count))
}

fn thousands(count: u64) -> String {
    format!("{:.1} k", megabytes(count) * 1_000.0)
}

fn memory(bytes: u64) -> String {
    format!("{:.1} MB", megabytes(bytes))
}

fn ratio(part: u64, whole: u64) -> String {
    format!("{:.2}", megabytes(part) / megabytes(whole.max(1)))
}

fn times(one: u64, other: u64) -> String {
    format!("{:.2} times", megabytes(one) / megabytes(other.max(1)))
}

/// With commas between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
