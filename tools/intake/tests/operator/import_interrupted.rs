//! An import that is killed and run again.

use std::process::Stdio;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::types::Select;
use serde_json::{Value, json};
use testkit::{Tables, TestApp};

use crate::operator::Operator;

/// Signals, 20 for each customer, with an invalid line after each thousand.
fn file_with_invalid_lines(signals: usize) -> String {
    let mut text = String::new();
    for number in 1..=signals {
        let customer = format!("customer-{}", number % (signals / 20 + 1));
        let data = json!({"productId": format!("product-{}", number % 977), "brand": "Fernweh", "n": number});
        text += &json!({"customerId": customer, "eventType": "productView", "data": data}).to_string();
        text += "\n";
        if number % 1_000 == 0 {
            text += "{\"customerId\":\"c\"}\n";
        }
    }
    text
}

async fn count(app: &TestApp) -> usize {
    // The functions' timeout is too short for a page of a table of this size in the emulator.
    let config = app.client.config().to_builder().timeout_config(TimeoutConfig::disabled()).build();
    let scan = Client::from_conf(config).scan().table_name(Tables::name("SignalsTable")).select(Select::Count);
    let mut pages = scan.into_paginator().send();
    let mut count = 0;
    while let Some(page) = pages.next().await {
        count += page.unwrap().count;
    }
    usize::try_from(count).unwrap()
}

/// Starts the import, and kills it when its checkpoint is past half of the file.
fn kill_half_way(operator: &Operator, bytes: u64) {
    let mut command = operator.command(&["import", "--account", "shop", "s.ndjson"]);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let half_done = || {
        let json = std::fs::read_to_string(operator.home.path().join("s.ndjson.import.json")).unwrap_or_default();
        let checkpoint: Value = serde_json::from_str(&json).unwrap_or_default();
        checkpoint["position"]["byte"].as_u64().is_some_and(|byte| byte > bytes / 2)
    };
    let deadline = Instant::now() + Duration::from_mins(10);
    while !half_done() {
        assert!(Instant::now() < deadline, "the import does not reach half of the file");
        assert!(process.try_wait().unwrap().is_none(), "the import ended before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[tokio::test]
async fn killed_import_continues_and_stores_nothing_twice() {
    let signals = 10_000;
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let text = file_with_invalid_lines(signals);
    operator.file("s.ndjson", &text);
    kill_half_way(&operator, text.len() as u64);
    let before = count(&app).await;
    let invalid = signals / 1_000;
    assert!(before < signals, "{before}");
    let done = operator.run(&["import", "--account", "shop", "s.ndjson", "--json"]).success().json();
    assert_eq!(
        (done[0]["stored"].as_u64(), done[0]["rejected"].as_u64()),
        (Some(signals as u64), Some(invalid as u64))
    );
    assert_eq!(count(&app).await, signals);
    let errors = operator.read("s.ndjson.errors.ndjson");
    let numbers: Vec<u64> =
        errors.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=invalid as u64).map(|number| number * 1_001).collect::<Vec<_>>());
}
