//! An import that is killed, and how fast one is.
//!
//! The figures of the README: `cargo test --test operator -- --ignored --nocapture rate`

use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, Select, WriteRequest};
use serde_json::{Value, json};
use tests::{Stack, Tables};

use crate::somebody::Operator;

/// Signals as an export of a shop has them, of a twentieth as many customers.
fn file(signals: usize) -> String {
    let line = |number: usize| {
        json!({
            "customerId": format!("customer-{}", number % (signals / 20 + 1)),
            "eventType": "productView",
            "data": {
                "productId": format!("product-{}", number % 977), "brand": "Fernweh", "price": 129.9,
                "category": "shoes", "subCategory1": "sport", "subCategory2": "running", "n": number,
            },
        })
        .to_string()
    };
    (0..signals).map(|number| line(number) + "\n").collect()
}

/// The same with a line that is wrong after every thousand.
fn file_with_faults(signals: usize) -> String {
    let mut text = String::new();
    for (number, line) in (1..).zip(file(signals).lines()) {
        text.extend([line, "\n", if number % 1_000 == 0 { "{\"customerId\":\"c\"}\n" } else { "" }]);
    }
    text
}

async fn count(stack: &Stack) -> usize {
    // The functions' patience is too short for a page of a table of this size in the emulator.
    let config = stack.client.config().to_builder().timeout_config(TimeoutConfig::disabled()).build();
    let scan = Client::from_conf(config).scan().table_name(Tables::name("SignalsTable")).select(Select::Count);
    let mut pages = scan.into_paginator().send();
    let mut count = 0;
    while let Some(page) = pages.next().await {
        count += page.unwrap().count;
    }
    usize::try_from(count).unwrap()
}

/// Starts the import, and kills it when it says that half of the file is done.
fn kill_half_way(operator: &Operator, bytes: u64) {
    let mut command = operator.command(&["import", "--account", "shop", "s.ndjson"]);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let half_done = || {
        let json = std::fs::read_to_string(operator.home.path().join("s.ndjson.import.json")).unwrap_or_default();
        let journal: Value = serde_json::from_str(&json).unwrap_or_default();
        journal["position"]["byte"].as_u64().is_some_and(|byte| byte > bytes / 2)
    };
    let deadline = Instant::now() + Duration::from_mins(10);
    while !half_done() {
        assert!(Instant::now() < deadline, "the import does not come half-way");
        assert!(process.try_wait().unwrap().is_none(), "the import was done before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

async fn an_interrupted_import_stores_everything_once(signals: usize) {
    let stack = Stack::start();
    let operator = Operator::of(&stack);
    let text = file_with_faults(signals);
    operator.file("s.ndjson", &text);
    kill_half_way(&operator, text.len() as u64);
    let before = count(&stack).await;
    let bad = signals / 1_000;
    assert!(before < signals, "{before}");
    let done = operator.run(&["import", "--account", "shop", "s.ndjson", "--json"]).done().json();
    assert_eq!((done[0]["stored"].as_u64(), done[0]["rejected"].as_u64()), (Some(signals as u64), Some(bad as u64)));
    assert_eq!(count(&stack).await, signals);
    let faults = operator.read("s.ndjson.faults.ndjson");
    let numbers: Vec<u64> =
        faults.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=bad as u64).map(|number| number * 1_001).collect::<Vec<_>>());
    println!("{signals} signals: killed when {before} were stored, run again, {signals} stored");
}

#[tokio::test]
async fn an_import_that_was_killed_goes_on_and_stores_nothing_twice() {
    an_interrupted_import_stores_everything_once(40_000).await;
}

#[tokio::test]
#[ignore = "takes minutes; the one above is the same with fewer lines"]
async fn an_import_of_200_000_that_was_killed_goes_on_and_stores_nothing_twice() {
    an_interrupted_import_stores_everything_once(200_000).await;
}

/// What the import is compared to: one `BatchWriteItem` of 25 items after another, each line made an item by hand.
async fn plain_loop(stack: &Stack, text: &str) {
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

#[tokio::test]
#[ignore = "a measurement: it wants a machine of its own"]
async fn the_rate_of_an_import_is_that_of_a_plain_loop_of_batch_writes() {
    let text = file(20_000);
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let stack = Stack::start();
        let started = Instant::now();
        plain_loop(&stack, &text).await;
        let plain = started.elapsed();

        let stack = Stack::start();
        let operator = Operator::of(&stack);
        operator.file("s.ndjson", &text);
        let started = Instant::now();
        operator.run(&["import", "--account", "shop", "s.ndjson"]).done();
        let import = started.elapsed();
        assert_eq!(count(&stack).await, 20_000);
        let ratio = plain.as_secs_f64() / import.as_secs_f64();
        println!("20,000 signals: plain loop {plain:.2?}, import {import:.2?}, ratio of rates {ratio:.2}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.2}", ratios[2]);
    assert!(ratios[2] >= 0.8, "{ratios:?}");
}
