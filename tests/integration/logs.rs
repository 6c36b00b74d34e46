//! No log line ever holds a key, a profile value or a body, whatever the level.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use service::telemetry;
use testkit::{RequestBuilder, TestApp};
use tracing::Level;
use tracing::instrument::WithSubscriber as _;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn request_line_has_the_outcome_and_no_sent_value() {
    const CANARY: &str = "canary-52c1";
    for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
        let lines = Lines::default();
        let written = lines.clone();
        let subscriber = telemetry::subscriber(level, move || written.clone());
        let key = async {
            let mut stack = TestApp::start();
            let key = stack.key("shop").await;
            let data = json!({"email": CANARY, "tier": CANARY});
            let signal = json!({"customerId": CANARY, "eventType": CANARY, "data": {"x": CANARY}, "more": CANARY});
            let bad = json!({"customerId": [CANARY], "eventType": CANARY});
            for down in [false, true] {
                if down {
                    stack.emulator.stop();
                }
                for call in [
                    RequestBuilder::customer(json!({"customerId": CANARY, "customerData": data})).key(&key),
                    RequestBuilder::customer(json!({"customerId": CANARY, "customerData": {"email": [CANARY]}}))
                        .key(&key),
                    RequestBuilder::signals(json!({"signals": [signal, bad]})).key(&key),
                    RequestBuilder::signals(format!("{{\"{CANARY}")).key(&key),
                    RequestBuilder::ping().key(CANARY),
                ] {
                    stack.send(call).await;
                }
            }
            key
        }
        .with_subscriber(subscriber)
        .await;
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!lines.contains(CANARY) && !lines.contains(&key), "{lines}");
        if level >= Level::INFO {
            let accepted = lines.lines().find(|line| line.contains("\"accepted\":1")).expect("a line of the signals");
            let line: serde_json::Value = serde_json::from_str(accepted).unwrap();
            assert_eq!(
                (&line["status"], &line["accountId"], &line["keyId"]),
                (&json!(200), &json!("shop"), &json!("key_of_shop"))
            );
            assert_eq!(
                (&line["received"], &line["rejected"], &line["fieldErrorCounts"]),
                (&json!(2), &json!(1), &json!({"invalid-type": 1}))
            );
            assert_eq!(line["path"], "/api/event-flows/signal");
        }
    }
}

#[tokio::test]
async fn request_line_has_the_ids_of_lambda_and_of_api_gateway() {
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = telemetry::subscriber(Level::ERROR, move || written.clone());
    let call = RequestBuilder::ping().invocation("5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    let answer = async { TestApp::start().send(call).await }.with_subscriber(subscriber).await;
    let line: serde_json::Value = serde_json::from_slice(&lines.0.lock().unwrap()).unwrap();
    assert_eq!(line["requestId"], answer.header("x-request-id"));
    assert_eq!(line["requestId"], "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    assert_eq!(line["apiRequestId"], "JKJaXmPLvHcESHA=");
}

#[tokio::test]
async fn preflight_line_has_status_204_and_one_metric() {
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = telemetry::subscriber(Level::INFO, move || written.clone());
    let preflights = async {
        let stack = TestApp::start();
        for path in ["/api/customers", "/api/event-flows/signal"] {
            stack.send(RequestBuilder::new("OPTIONS", path)).await;
        }
    };
    preflights.with_subscriber(subscriber).await;
    let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().map(|line| [&line["path"], &line["status"], &line["code"]]).collect();
    assert_eq!(
        told,
        [
            [&json!("/api/customers"), &json!(204), &json!("ok")],
            [&json!("/api/event-flows/signal"), &json!(204), &json!("ok")]
        ]
    );
    for line in &lines {
        let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        // The first request of a process is a cold start, whatever it asks.
        let names = metrics.iter().map(|metric| &metric["Name"]).filter(|name| *name != "ColdStarts");
        assert_eq!(names.collect::<Vec<_>>(), ["DynamoDbCalls"]);
        assert_eq!(line["DynamoDbCalls"], 0);
    }
}
