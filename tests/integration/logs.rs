//! Each request writes one log line. No line contains a key, a profile value or a body, at any level.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use model::timestamp::Timestamp;
use serde_json::{Value, json};
use service::telemetry;
use testkit::{RequestBuilder, TestApp};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level};

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

/// While a process has one subscriber, tracing asks only that of the current thread whether a new call site is enabled, and
/// caches the answer for all threads. With a second one it asks all, so that requests of other tests disable no call site.
static SECOND_SUBSCRIBER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// What these requests return, and the log that they write at this level, as text.
async fn log_of<T>(level: Level, requests: impl Future<Output = T>) -> (T, String) {
    LazyLock::force(&SECOND_SUBSCRIBER);
    let lines = Lines::default();
    let written = lines.clone();
    let returned = requests.with_subscriber(telemetry::subscriber(level, move || written.clone())).await;
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (returned, log)
}

/// The request lines of a log.
fn request_lines(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["message"] == "request").collect()
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
        let (key, log) = log_of(level, send_requests()).await;
        assert!(!log.contains(CANARY) && !log.contains(&key), "{log}");
        let lines = request_lines(&log);
        let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [200, 400, 200, 400, 401, 503, 400, 503, 400, 401], "{level}: {log}");
        let batch = &lines[2];
        assert_eq!((&batch["accountId"], &batch["keyId"]), (&json!("shop"), &json!("key_of_shop")));
        assert_eq!(batch["path"], "/api/event-flows/signal");
        assert_eq!([&batch["received"], &batch["accepted"], &batch["rejected"]], [2, 1, 1]);
        assert_eq!(batch["fieldErrorCounts"], json!({"invalid-type": 1}));
    }
}

#[tokio::test]
async fn request_line_has_the_ids_of_lambda_and_of_api_gateway() {
    let call = RequestBuilder::ping().invocation("5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    let (response, log) = log_of(Level::ERROR, async { TestApp::start().send(call).await }).await;
    let line = &request_lines(&log)[0];
    assert_eq!(line["requestId"], response.header("x-request-id"));
    assert_eq!(line["requestId"], "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
    assert_eq!(line["apiRequestId"], "JKJaXmPLvHcESHA=");
}

#[tokio::test]
async fn preflight_line_has_status_204_and_one_metric() {
    let preflights = async {
        let app = TestApp::start();
        for path in ["/api/customers", "/api/event-flows/signal"] {
            app.send(RequestBuilder::new("OPTIONS", path)).await;
        }
    };
    let ((), log) = log_of(Level::INFO, preflights).await;
    let lines = request_lines(&log);
    let outcomes: Vec<_> = lines.iter().map(|line| [&line["path"], &line["status"], &line["code"]]).collect();
    let outcome = |path| [json!(path), json!(204), json!("ok")];
    assert_eq!(json!(outcomes), json!([outcome("/api/customers"), outcome("/api/event-flows/signal")]));
    for line in &lines {
        let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        // The first request of a process also counts as a cold start.
        let names = metrics.iter().map(|metric| &metric["Name"]).filter(|name| *name != "ColdStarts");
        assert_eq!(names.collect::<Vec<_>>(), ["DynamoDbCalls"]);
        assert_eq!(line["DynamoDbCalls"], 0);
    }
}
