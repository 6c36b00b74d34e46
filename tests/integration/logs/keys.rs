//! What the line of a request and its metrics say of the key: why it is not accepted, and when it
//! expires.

use std::time::SystemTime;

use harness::fake_s3::KEY_SNAPSHOT_PATH;
use harness::{RequestBuilder, TestApp};
use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::NOW;
use crate::support::gzip::gzip;
use crate::support::logs::{log_of, request_lines};

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
            .key_with("shop", |entry| entry.expires_at = Some(NOW))
            .await;
        let revoked = app
            .key_with("shop", |entry| entry.revoked_at = Some(NOW))
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

/// The lines about the key snapshot, which has these entries beside that of the key of a request.
async fn lines_about_the_snapshot(entries: &[Value]) -> Vec<Value> {
    let request = async |log| {
        let (mut app, key) = TestApp::with_key("shop").await;
        app.log = log;
        let mut keys = entries.to_vec();
        keys.push(json!({
            "keyHash": KeyHash::from_key(&key), "keyId": "key_1", "accountId": "shop", "createdAt": NOW,
        }));
        let snapshot = json!({"version": 1, "writtenAt": NOW, "keys": keys}).to_string();
        app.s3.put_at(
            KEY_SNAPSHOT_PATH,
            gzip(snapshot.as_bytes()),
            SystemTime::now(),
        );
        app.emulator.stop();
        app.send(RequestBuilder::ping().key(&key).received_at(NOW))
            .await
    };
    let (response, log) = log_of(request).await;
    assert_eq!(response.status, 200, "{response:?} {log}");
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let about_snapshot = |line: &Value| line.to_string().contains("key snapshot");
    lines.filter(about_snapshot).collect()
}

#[tokio::test]
async fn number_of_entries_of_the_key_snapshot_that_cannot_be_read_is_told() {
    let lines = lines_about_the_snapshot(&[json!({"keyId": "key_2"}), json!(7)]).await;
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(line["level"], "WARN", "{line}");
    assert_eq!(line["entries"], 2, "{line}");
    assert_eq!(lines_about_the_snapshot(&[]).await, [] as [Value; 0]);
}

/// A key that will expire, and the days that the line of its request reports.
#[derive(Debug)]
struct ExpiringKey {
    lifetime_seconds: u64,
    seconds_left: u64,
    reported_days: Option<u64>,
}

const DAY: u64 = 24 * 60 * 60;

const EXPIRING_KEYS: [ExpiringKey; 4] = [
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
];

impl ExpiringKey {
    /// The log of a request with this key.
    async fn log_of_request(&self) -> String {
        // A key expires at a whole second, but is created at any millisecond.
        let expires_at_seconds = NOW.seconds() + self.seconds_left;
        let created_at_seconds = expires_at_seconds - self.lifetime_seconds;
        let expires_at = Timestamp::from_millis(expires_at_seconds * 1000);
        let created_at = Timestamp::from_millis(created_at_seconds * 1000 + 999);
        let now = Timestamp::from_millis(NOW.seconds() * 1000);
        let request = async |log| {
            let mut app = TestApp::start();
            app.log = log;
            let key = app
                .key_with("shop", |entry| {
                    entry.created_at = created_at;
                    entry.expires_at = Some(expires_at);
                })
                .await;
            let call = RequestBuilder::ping().key(&key).received_at(now);
            app.send(call).await
        };
        let (response, log) = log_of(request).await;
        assert_eq!(response.status, 200, "{self:?}");
        log
    }
}

#[tokio::test]
async fn key_that_expires_within_thirty_days_reports_the_days_left() {
    for key in EXPIRING_KEYS {
        let log = key.log_of_request().await;
        let line = &request_lines(&log)[0];
        assert_eq!(line["KeyDaysLeft"].as_u64(), key.reported_days, "{key:?}");
        let is_metric = metrics(line).contains(&"KeyDaysLeft");
        assert_eq!(is_metric, key.reported_days.is_some(), "{key:?}");
    }
}
