//! Each request writes one log line. No line contains a key, a profile value or a body. Of the
//! client's values, a line has only the requestIdentifier.

mod bytes;
mod keys;
mod queries;

use harness::fault_proxy::Fault;
use harness::{AppBehindProxy, RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use service::telemetry::log::Log;
use tokio::sync::OnceCell;

use crate::support::clock::NOW;
use crate::support::logs::{log_of, request_lines};

/// A value that each request sends and no log line may contain.
const CANARY: &str = "canary-52c1";

/// The one value of a client that its line has, as it was sent.
const MIXED_CASE_IDENTIFIER: &str = "6F1C0A52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

/// The key, and the log, of requests of every outcome. They are sent once.
async fn sent_requests() -> &'static (String, String) {
    static SENT: OnceCell<(String, String)> = OnceCell::const_new();
    SENT.get_or_init(|| log_of(send_requests)).await
}

/// Sends requests of every outcome, with and without DynamoDB; returns the key.
async fn send_requests(log: Log) -> String {
    let mut app = TestApp::start();
    app.log = log;
    let key = app.key("shop").await;
    let data = json!({"email": CANARY, "tier": CANARY});
    let signal =
        json!({"customerId": CANARY, "eventType": CANARY, "data": {"x": CANARY}, "more": CANARY});
    let invalid = json!({"customerId": [CANARY], "eventType": CANARY});
    for is_stopped in [false, true] {
        if is_stopped {
            app.emulator.stop();
            app.sqs.faults().set(Fault::InternalServerError.always());
        }
        for call in [
            RequestBuilder::customer(json!({"customerId": CANARY, "customerData": data})).key(&key),
            RequestBuilder::customer(
                json!({"customerId": CANARY, "customerData": {"email": [CANARY]}}),
            )
            .key(&key),
            RequestBuilder::signals(
                json!({"requestIdentifier": MIXED_CASE_IDENTIFIER, "signals": [signal, invalid]}),
            )
            .key(&key),
            RequestBuilder::signals(format!("{{\"{CANARY}")).key(&key),
            RequestBuilder::ping().key(CANARY),
        ] {
            // All arrive at one time, so that the invalid key stays cached however long they take.
            app.send(call.received_at(NOW)).await;
        }
    }
    key
}

#[tokio::test]
async fn request_line_has_the_outcome_and_no_sent_value() {
    let (key, log) = sent_requests().await;
    assert!(!log.contains(CANARY), "{log}");
    assert!(!log.contains(key), "{log}");
    let lines = request_lines(log);
    let statuses: Vec<_> = lines
        .iter()
        .map(|line| line["status"].as_u64().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [200, 400, 200, 400, 401, 503, 400, 503, 400, 401],
        "{log}"
    );
    let batch = &lines[2];
    assert_eq!(batch["accountId"], "shop");
    assert_eq!(batch["keyId"], "key_of_shop");
    assert_eq!(batch["path"], "/api/event-flows/signal");
    let identifiers: Vec<_> = lines
        .iter()
        .map(|line| line["requestIdentifier"].as_str())
        .collect();
    let of_batch = Some(MIXED_CASE_IDENTIFIER);
    assert_eq!(
        identifiers,
        [
            None, None, of_batch, None, None, None, None, of_batch, None, None
        ]
    );
    assert_eq!(batch["SignalsAccepted"], 1);
    assert_eq!(batch["SignalsRejected"], 1);
    assert_eq!(batch["RejectionRate"], 50.0);
    assert_eq!(batch["fieldErrorCounts"], json!({"invalid-type": 1}));
}

#[tokio::test]
async fn line_of_a_405_has_the_path_and_that_of_a_404_has_none() {
    let ((), log) = log_of(async |log: Log| {
        let mut app = TestApp::start();
        app.log = log;
        for path in ["/api/customers", "/api/none"] {
            let response = app.send(RequestBuilder::new("DELETE", path)).await;
            assert!([404, 405].contains(&response.status));
        }
    })
    .await;
    let lines = request_lines(&log);
    let paths: Vec<_> = lines.iter().map(|line| line["path"].as_str()).collect();
    assert_eq!(paths, [Some("/api/customers"), None]);
}

#[tokio::test]
async fn rejection_rate_has_two_decimals_and_is_absent_without_rejections() {
    let ((), log) = log_of(async |log: Log| {
        let mut app = TestApp::start();
        app.log = log;
        let key = app.key("shop").await;
        let valid = json!({"customerId": "c", "eventType": "t"});
        for rejected in [0, 1, 3] {
            let signals: Vec<_> = (0..500)
                .map(|index| {
                    if index < rejected {
                        json!(7)
                    } else {
                        valid.clone()
                    }
                })
                .collect();
            let call = RequestBuilder::signals(json!({"signals": signals})).key(&key);
            assert_eq!(app.send(call).await.status, 200);
        }
    })
    .await;
    let rates: Vec<_> = request_lines(&log)
        .iter()
        .map(|line| line["RejectionRate"].as_f64())
        .collect();
    assert_eq!(rates, [None, Some(0.2), Some(0.6)]);
}

/// A line without what differs from run to run.
fn stable(mut line: Value) -> String {
    let members = line.as_object_mut().unwrap();
    for name in ["DynamoDbLatency", "durationMs"] {
        let value = members.remove(name).unwrap();
        assert!(value.is_number(), "{name} is {value}");
    }
    line.to_string()
}

/// Sends an update and a batch twice: the first of each looks the key up.
async fn send_stored_requests(log: Log) {
    let (mut app, key) = TestApp::with_key("acme").await;
    app.log = log;
    let customer = json!({"customerId": "c1", "customerData": {"email": "ada@example.com"}});
    let signal = json!({"customerId": "c1", "eventType": "purchase"});
    let batch = json!({"signals": vec![&signal; 25]});
    for now in [Timestamp::from_millis(NOW.millis() - 1), NOW] {
        for call in [
            RequestBuilder::customer(&customer),
            RequestBuilder::signals(&batch),
        ] {
            let call = call
                .key(&key)
                .received_at(now)
                .invocation("5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90");
            app.send(call).await;
        }
    }
}

#[tokio::test]
async fn lines_of_stored_requests_have_these_members_and_no_others() {
    let ((), log) = log_of(send_stored_requests).await;
    let line = |path: &str, bytes: u64, metric: &str, value: u64| {
        stable(json!({
            "timestamp": "2026-11-20T22:33:44.123Z", "requestId": "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90",
            "path": path, "status": 200, "accountId": "acme", "keyId": "key_of_acme", "bytes": bytes, "durationMs": 1,
            "calls": 1, metric: value, "DynamoDbLatency": 1, "FunctionName": "local",
            "_aws": {"Timestamp": NOW.millis(), "CloudWatchMetrics": [{
                "Namespace": "Intake", "Dimensions": [["FunctionName"]],
                "Metrics": [{"Name": metric}, {"Name": "DynamoDbLatency"}],
            }]},
        }))
    };
    let written: Vec<_> = log
        .lines()
        .skip(2)
        .map(|line| stable(serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(
        written,
        [
            line("/api/customers", 62, "CustomersUpdated", 1),
            line("/api/event-flows/signal", 1088, "SignalsAccepted", 25)
        ]
    );
}

#[tokio::test]
async fn each_line_of_a_request_has_its_id() {
    let mut stack = AppBehindProxy::start(Fault::ResetBefore.always()).await;
    stack
        .app
        .sqs
        .faults()
        .set(Fault::InternalServerError.always());
    let batch = json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]});
    let (response, log) = log_of(async |log| {
        stack.app.log = log;
        stack
            .send(RequestBuilder::signals(&batch).received_at(NOW))
            .await
    })
    .await;
    assert_eq!(response.status, 503, "{response:?}");
    let response = response.json();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["message"]
                == "the overflow queue did not accept the signals of a batch")
    );
    assert!(
        lines
            .iter()
            .all(|line| line["requestId"] == response["requestId"]),
        "{log}"
    );
}
