//! The rate of `cargo intake import`, beside that of a plain loop of `BatchWriteItem` calls.
//!
//! `cargo bench --bench import`

#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed measurement ends the benchmark"
)]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use serde_json::Value;
use testkit::{Tables, TestApp};

#[path = "../tests/operator/export.rs"]
mod export;
#[path = "../tests/operator/operator.rs"]
#[expect(dead_code, clippy::expect_used, reason = "only the tests use all of it")]
mod operator;

use export::export;
use operator::Operator;

const SIGNALS: usize = 20_000;

/// How often both are measured, in turns, so that other load on the machine affects both alike.
const PAIRS: usize = 5;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let text = export(SIGNALS);
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        let (plain, import) = (plain_loop(&text).await, import(&text));
        let ratio = plain.as_secs_f64() / import.as_secs_f64();
        println!("{SIGNALS} signals: plain loop {plain:.2?}, import {import:.2?}, ratio of rates {ratio:.2}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.2}", ratios.get(PAIRS / 2).unwrap());
}

fn import(text: &str) -> Duration {
    let stack = TestApp::start();
    let operator = Operator::of(&stack);
    operator.file("s.ndjson", text);
    let started = Instant::now();
    let done = operator.run(&["import", "--account", "shop", "s.ndjson", "--json"]).success().json();
    let took = started.elapsed();
    assert_eq!(done.first().and_then(|done| done["stored"].as_u64()), u64::try_from(SIGNALS).ok());
    took
}

/// What the import is compared with: one `BatchWriteItem` of 25 items after another, each item built from its line.
async fn plain_loop(text: &str) -> Duration {
    let stack = TestApp::start();
    let started = Instant::now();
    let table = Tables::name("SignalsTable");
    let lines: Vec<&str> = text.lines().collect();
    for (batch, lines) in lines.chunks(25).enumerate() {
        let puts = lines.iter().enumerate().map(|(index, line)| {
            let signal: Value = serde_json::from_str(line).unwrap();
            let AttributeValue::M(mut item) = attribute(&signal) else { panic!("an object") };
            let text = |text: String| AttributeValue::S(text);
            item.insert("pk".into(), text(format!("shop#{}", signal["customerId"].as_str().unwrap())));
            item.insert("sk".into(), text(format!("2026-01-01T00:00:00.000Z#{batch:036}#{index:04}")));
            item.insert("accountId".into(), text("shop".into()));
            item.insert("requestIdentifier".into(), text(format!("{batch:036}")));
            item.insert("receivedAt".into(), text("2026-01-01T00:00:00.000Z".into()));
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        });
        let answer = stack.client.batch_write_item().request_items(table, puts.collect()).send().await.unwrap();
        assert!(answer.unprocessed_items.is_none_or(|left| left.is_empty()));
    }
    started.elapsed()
}

fn attribute(value: &Value) -> AttributeValue {
    match value {
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), attribute(value)));
            AttributeValue::M(members.collect::<HashMap<_, _>>())
        }
        _ => panic!("the file has no such value"),
    }
}
