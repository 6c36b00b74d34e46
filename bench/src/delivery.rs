//! What the delivery of stored signals costs: instructions of a batch of records, and records a second. Must not know what an
//! event looks like.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use hyper::body::Bytes;
use serde_json::{Value, json};
use testkit::fake_targets::FakeTargets;

use crate::count::{Instructions, Spans, count};
use crate::growth::megabytes;
use crate::process::{Mode, Process};
use crate::target::Target;

const STREAM: &str = include_str!("../../events/stream/signals.json");

/// Records of a batch: `BatchSize` of delivery.yaml for the bus.
pub const RECORDS: u32 = 500;

/// Batches of which the rate is taken.
const BATCHES: u32 = 20;

/// The variables that name the targets, and what a batch to each is called.
const TARGETS: [(&str, &str); 2] =
    [("EVENT_BUS_NAME", "deliver, 500 to the bus"), ("DELIVERY_STREAM_NAME", "deliver, 500 to the lake")];

/// Instructions of a batch to the bus, and of one to the lake.
///
/// # Errors
/// When a record is not delivered.
pub async fn counts(function: &Target) -> Result<[(&'static str, Instructions); 2]> {
    let targets = FakeTargets::start().await?;
    let [(bus, to_the_bus), (lake, to_the_lake)] = TARGETS;
    let event = batch()?;
    Ok([
        (to_the_bus, count(&with_target(function, &targets, bus), &event, Spans::SHORT).await?),
        (to_the_lake, count(&with_target(function, &targets, lake), &event, Spans::SHORT).await?),
    ])
}

/// Records a second to the bus, and to the lake. The targets answer at once.
///
/// # Errors
/// When a record is not delivered.
pub async fn rates(function: &Target) -> Result<[f64; 2]> {
    let event = batch()?;
    let mut rates = [0.0; 2];
    for (rate, (variable, _)) in rates.iter_mut().zip(TARGETS) {
        let targets = FakeTargets::start().await?;
        let mut process = Process::start(&with_target(function, &targets, variable), Mode::default()).await?;
        process.invoke(&event).await?;
        let took = process.invoke_many(&event, BATCHES, 1).await?;
        *rate = f64::from(BATCHES) * f64::from(RECORDS) / took.as_secs_f64();
    }
    Ok(rates)
}

/// Both, by target, as Markdown.
pub fn table(counts: [(&str, Instructions); 2], rates: [f64; 2]) -> String {
    let mut table = String::from("| target | instructions a record | records a second |\n|---|---|---|\n");
    for (target, ((_, counted), rate)) in ["bus", "lake"].iter().zip(counts.iter().zip(rates)) {
        let thousands = megabytes(counted.warm) * 1e3 / f64::from(RECORDS);
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {target} | {thousands:.0} k | {rate:.0} |");
    }
    table
}

fn with_target(function: &Target, targets: &FakeTargets, variable: &'static str) -> Target {
    let mut function = function.clone();
    function.variables.extend([
        (variable, "intake".to_owned()),
        ("FAILURE_BUCKET_NAME", "intake-failures".to_owned()),
        ("AWS_ENDPOINT_URL_EVENTBRIDGE", targets.endpoint()),
        ("AWS_ENDPOINT_URL_FIREHOSE", targets.endpoint()),
        ("AWS_ENDPOINT_URL_S3", targets.endpoint()),
    ]);
    function
}

/// An event with records of new signals, whose data has the seven fields of the contract.
fn batch() -> Result<Bytes> {
    let stream: Value = serde_json::from_str(STREAM).context("the example event is not JSON")?;
    let texts = ["brand", "productId", "category", "subCategory1", "subCategory2", "subCategory3"];
    let mut data = json!({"price": {"N": "49.9"}});
    for name in texts {
        data[name] = json!({"S": "running shoes"});
    }
    let record = |number: u32| {
        let mut record = stream["Records"][0].clone();
        let change = &mut record["dynamodb"];
        change["SequenceNumber"] = format!("{number:027}").into();
        let sort_key =
            json!({"S": format!("2026-11-20T22:33:44.123Z#6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11#{number:04}")});
        change["Keys"]["sk"] = sort_key.clone();
        change["NewImage"]["sk"] = sort_key;
        change["NewImage"]["data"] = json!({"M": data});
        record
    };
    Ok(Bytes::from(json!({"Records": (0..RECORDS).map(record).collect::<Vec<_>>()}).to_string()))
}
