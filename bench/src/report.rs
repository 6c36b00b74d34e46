//! The tables of a run, as Markdown. Must not know how anything is measured.

use std::fmt::Write as _;

use crate::growth::{Point, megabytes, milliseconds};
use crate::measure::{Measured, Reference};
use crate::observation::Observation;
use crate::prices::Price;

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

/// What a million signals cost, as Markdown.
pub fn prices(prices: &[Price]) -> String {
    let mut table = String::from(
        "| signals a batch | requestIdentifier | write units | DynamoDB | API Gateway and Lambda requests | together |\n\
         |---|---|---|---|---|---|\n",
    );
    for price in prices {
        let (size, named, units) =
            (price.signals, if price.identified { "yes" } else { "no" }, grouped(price.write_units));
        let (storage, requests, sum) = (price.storage, price.requests, price.storage + price.requests);
        let _ = writeln!(table, "| {size} | {named} | {units} | ${storage:.3} | ${requests:.3} | ${sum:.3} |");
    }
    table
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
