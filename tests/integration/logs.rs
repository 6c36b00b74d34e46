//! Each request writes one log line. No line contains a key, a profile value or a body. Of the
//! client's values, a line has only the requestIdentifier.

mod bytes;
mod queries;

use model::timestamp::Timestamp;
use serde_json::{Value, json};
use service::telemetry::log::Log;
use testkit::fault_proxy::Fault;
use testkit::{RequestBuilder, TestApp};

use crate::support::clock::NOW;
use crate::support::logs::{log_of, request_lines};
use crate::support::overflow_stack::OverflowStack;

/// A value that each request sends and no log line may contain.
const CANARY: &str = "canary-52c1";

/// The one value of a client that its line has, as it was sent.
const REQUEST_IDENTIFIER: &str = "6F1C0A52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

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
        }
        for call in [
            RequestBuilder::customer(json!({"customerId": CANARY, "customerData": data})).key(&key),
            RequestBuilder::customer(
                json!({"customerId": CANARY, "customerData": {"email": [CANARY]}}),
            )
            .key(&key),
            RequestBuilder::signals(
                json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [signal, invalid]}),
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
    let (key, log) = log_of(send_requests).await;
    assert!(!log.contains(CANARY), "{log}");
    assert!(!log.contains(&key), "{log}");
    let lines = request_lines(&log);
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
    let of_batch = Some(REQUEST_IDENTIFIER);
    assert_eq!(
        identifiers,
        [
            None, None, of_batch, None, None, None, None, of_batch, None, None
        ]
    );
    assert_eq!(batch["SignalsAccepted"], 1);
    assert_eq!(batch["SignalsRejected"], 1);
    assert_eq!(batch["RejectionRate"], 50);
    assert_eq!(batch["fieldErrorCounts"], json!({"invalid-type": 1}));
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

#[tokio::test]
async fn lines_of_stored_requests_have_these_members_and_no_others() {
    let requests = async |log| {
        let (mut app, key) = TestApp::with_key("acme").await;
        app.log = log;
        let signal = json!({"customerId": "c1", "eventType": "purchase"});
        // The first request looks the key up.
        for now in [Timestamp::from_millis(NOW.millis() - 1), NOW] {
            let customer =
                json!({"customerId": "c1", "customerData": {"email": "ada@example.com"}});
            let batch = json!({"signals": vec![&signal; 25]});
            for call in [
                RequestBuilder::customer(customer),
                RequestBuilder::signals(batch),
            ] {
                app.send(
                    call.key(&key)
                        .received_at(now)
                        .invocation("5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90"),
                )
                .await;
            }
        }
    };
    let ((), log) = log_of(requests).await;
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
async fn line_of_a_deferred_batch_says_why_dynamodb_did_not_store_it() {
    for (fault, reason) in [
        (
            Fault::Throttled.always().for_operation("BatchWriteItem"),
            "Throttled",
        ),
        (
            Fault::InternalServerError.always().for_operation("PutItem"),
            "ServerError",
        ),
    ] {
        let (response, log) = log_of(async |log| {
            let mut stack = OverflowStack::start(fault.clone()).await;
            stack.app.log = log;
            let signal = json!({"customerId": "c", "eventType": "e"});
            let batch = json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [signal]});
            stack.send(&batch, NOW).await
        })
        .await;
        assert_eq!(response.status, 200, "{response:?}");
        let lines = request_lines(&log);
        assert_eq!(lines[0]["SignalsDeferred"], 1, "{log}");
        assert_eq!(lines[0]["storeError"], reason, "{log}");
    }
}

#[tokio::test]
async fn each_line_of_a_request_has_its_id() {
    let mut stack = OverflowStack::start(Fault::ResetBefore.always()).await;
    stack.sqs.set_unavailable(true);
    let batch = json!({"signals": [{"customerId": "c", "eventType": "e"}, 17]});
    let (response, log) = log_of(async |log| {
        stack.app.log = log;
        stack.send(&batch, NOW).await
    })
    .await;
    assert_eq!(response.status, 503, "{response:?}");
    let response = response.json();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.iter().any(|line| line["message"]
        == "the overflow queue did not take the signals of a batch"));
    assert!(
        lines
            .iter()
            .all(|line| line["requestId"] == response["requestId"]),
        "{log}"
    );
}

/// The names of the metrics that a line declares.
fn metrics(line: &Value) -> Vec<&str> {
    let metrics = line
        .pointer("/_aws/CloudWatchMetrics/0/Metrics")
        .and_then(Value::as_array);
    metrics
        .into_iter()
        .flatten()
        .map(|metric| metric["Name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn line_of_a_401_has_the_reason_and_names_a_known_key() {
    let requests = async |log| {
        let mut app = TestApp::start();
        app.log = log;
        let expired = app
            .key_with("shop", |record| record.expires_at = Some(NOW))
            .await;
        let revoked = app
            .key_with("shop", |record| record.revoked_at = Some(NOW))
            .await;
        // The second time, the cache knows the keys.
        for _ in 0..2 {
            app.send(RequestBuilder::ping().received_at(NOW)).await;
            for key in ["two words", "unknown", &expired, &revoked] {
                app.send(RequestBuilder::ping().key(key).received_at(NOW))
                    .await;
            }
        }
    };
    let ((), log) = log_of(requests).await;
    let lines = request_lines(&log);
    assert_eq!(lines.len(), 10, "{log}");
    for round in lines.chunks(5) {
        let [missing, malformed, unknown, expired, revoked] = round else {
            panic!("{round:?}")
        };
        for (line, reason) in [
            (missing, "missing"),
            (malformed, "malformed"),
            (unknown, "unknown"),
        ] {
            assert_eq!(line["status"], 401, "{line}");
            assert_eq!(line["reason"], reason, "{line}");
            assert_eq!(line["keyId"], Value::Null, "{line}");
            assert_eq!(line["accountId"], Value::Null, "{line}");
            assert!(!metrics(line).contains(&"InactiveKeys"), "{line}");
        }
        for (line, reason) in [(expired, "expired"), (revoked, "revoked")] {
            assert_eq!(line["status"], 401, "{line}");
            assert_eq!(line["reason"], reason, "{line}");
            assert_eq!(line["keyId"], "key_of_shop", "{line}");
            assert_eq!(line["accountId"], "shop", "{line}");
            assert!(metrics(line).contains(&"InactiveKeys"), "{line}");
        }
    }
}

#[tokio::test]
async fn metric_of_401s_is_written_by_reason() {
    let request = async |log| {
        let mut app = TestApp::start();
        app.log = log;
        app.send(RequestBuilder::ping().key("unknown")).await
    };
    let (_, log) = log_of(request).await;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [line] = lines
        .iter()
        .filter(|line| line["message"] == "unauthorized")
        .collect::<Vec<_>>()[..]
    else {
        panic!("{log}")
    };
    assert_eq!(line["Reason"], "unknown");
    assert_eq!(line["Unauthorized"], 1);
    assert_eq!(
        line["_aws"]["CloudWatchMetrics"][0]["Dimensions"],
        json!([["FunctionName", "Reason"]])
    );
}

/// A key that will expire, and the days that the line of its request reports.
#[derive(Debug)]
struct ExpiringKey {
    lifetime_seconds: u64,
    seconds_left: u64,
    reported_days: Option<u64>,
}

#[tokio::test]
async fn key_that_expires_within_thirty_days_reports_the_days_left() {
    const DAY: u64 = 24 * 60 * 60;
    for key in [
        ExpiringKey {
            lifetime_seconds: 365 * DAY,
            seconds_left: 30 * DAY,
            reported_days: None,
        },
        ExpiringKey {
            lifetime_seconds: 365 * DAY,
            seconds_left: 30 * DAY - 1,
            reported_days: Some(29),
        },
        ExpiringKey {
            lifetime_seconds: 7 * DAY,
            seconds_left: 1,
            reported_days: Some(0),
        },
        // The whole lifetime is under 7 days, so the near end needs no alarm.
        ExpiringKey {
            lifetime_seconds: 7 * DAY - 1,
            seconds_left: 1,
            reported_days: None,
        },
    ] {
        // A key expires at a whole second, but is created at any millisecond.
        let expires_at_seconds = NOW.seconds() + key.seconds_left;
        let created_at_seconds = expires_at_seconds - key.lifetime_seconds;
        let expires_at = Timestamp::from_millis(expires_at_seconds * 1000);
        let created_at = Timestamp::from_millis(created_at_seconds * 1000 + 999);
        let now = Timestamp::from_millis(NOW.seconds() * 1000);
        let request = async |log| {
            let mut app = TestApp::start();
            app.log = log;
            let key = app
                .key_with("shop", |record| {
                    record.created_at = created_at;
                    record.expires_at = Some(expires_at);
                })
                .await;
            app.send(RequestBuilder::ping().key(&key).received_at(now))
                .await
        };
        let (response, log) = log_of(request).await;
        let line = &request_lines(&log)[0];
        assert_eq!(response.status, 200);
        assert_eq!(line["KeyDaysLeft"].as_u64(), key.reported_days, "{key:?}");
        let is_metric = metrics(line).contains(&"KeyDaysLeft");
        assert_eq!(is_metric, key.reported_days.is_some(), "{key:?}");
    }
}
