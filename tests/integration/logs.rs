//! Each request writes one log line. No line contains a key, a profile value or a body, at any level.

use std::io;
use std::sync::{Arc, Mutex};

use model::timestamp::Timestamp;
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

/// A value that each request sends and no log line may contain.
const CANARY: &str = "canary-52c1";

const NOW: Timestamp = Timestamp::from_millis(1_795_214_024_123);

/// Sends requests of every outcome, with and without DynamoDB; returns the key.
async fn send_requests() -> String {
    let mut app = TestApp::start();
    let key = app.key("shop").await;
    let data = json!({"email": CANARY, "tier": CANARY});
    let signal = json!({"customerId": CANARY, "eventType": CANARY, "data": {"x": CANARY}, "more": CANARY});
    let invalid = json!({"customerId": [CANARY], "eventType": CANARY});
    for is_stopped in [false, true] {
        if is_stopped {
            app.emulator.stop();
        }
        for call in [
            RequestBuilder::customer(json!({"customerId": CANARY, "customerData": data})).key(&key),
            RequestBuilder::customer(json!({"customerId": CANARY, "customerData": {"email": [CANARY]}})).key(&key),
            RequestBuilder::signals(json!({"signals": [signal, invalid]})).key(&key),
            RequestBuilder::signals(format!("{{\"{CANARY}")).key(&key),
            RequestBuilder::ping().key(CANARY),
        ] {
            // At one time, so that the invalid key stays cached however long the others take.
            app.send(call.at(NOW)).await;
        }
    }
    key
}

#[tokio::test]
async fn request_line_has_the_outcome_and_no_sent_value() {
    for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
        let lines = Lines::default();
        let written = lines.clone();
        let subscriber = telemetry::subscriber(level, move || written.clone());
        let key = send_requests().with_subscriber(subscriber).await;
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!lines.contains(CANARY) && !lines.contains(&key), "{lines}");
        let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let lines: Vec<_> = lines.iter().filter(|line| line["message"] == "request").collect();
        let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [200, 400, 200, 400, 401, 503, 400, 503, 400, 401], "{level}: {lines:#?}");
        let batch = lines[2];
        assert_eq!((&batch["accountId"], &batch["keyId"]), (&json!("shop"), &json!("key_of_shop")));
        assert_eq!(batch["path"], "/api/event-flows/signal");
        assert_eq!([&batch["received"], &batch["accepted"], &batch["rejected"]], [2, 1, 1]);
        assert_eq!(batch["fieldErrorCounts"], json!({"invalid-type": 1}));
    }
}

#[tokio::test]
async fn request_line_has_the_ids_of_lambda_and_of_api_gateway() {
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = telemetry::subscriber(Level::ERROR, move || written.clone());
    let call = RequestBuilder::ping().invocation("5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    let response = async { TestApp::start().send(call).await }.with_subscriber(subscriber).await;
    let line: serde_json::Value = serde_json::from_slice(&lines.0.lock().unwrap()).unwrap();
    assert_eq!(line["requestId"], response.header("x-request-id"));
    assert_eq!(line["requestId"], "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    assert_eq!(line["apiRequestId"], "JKJaXmPLvHcESHA=");
}

#[tokio::test]
async fn preflight_line_has_status_204_and_one_metric() {
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = telemetry::subscriber(Level::INFO, move || written.clone());
    let preflights = async {
        let app = TestApp::start();
        for path in ["/api/customers", "/api/event-flows/signal"] {
            app.send(RequestBuilder::new("OPTIONS", path)).await;
        }
    };
    preflights.with_subscriber(subscriber).await;
    let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = lines.iter().map(|line| [&line["path"], &line["status"], &line["code"]]).collect();
    assert_eq!(
        outcomes,
        [
            [&json!("/api/customers"), &json!(204), &json!("ok")],
            [&json!("/api/event-flows/signal"), &json!(204), &json!("ok")]
        ]
    );
    for line in &lines {
        let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        // The first request of a process also counts as a cold start.
        let names = metrics.iter().map(|metric| &metric["Name"]).filter(|name| *name != "ColdStarts");
        assert_eq!(names.collect::<Vec<_>>(), ["DynamoDbCalls"]);
        assert_eq!(line["DynamoDbCalls"], 0);
    }
}
