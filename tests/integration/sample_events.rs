//! The events in events/, as `cargo lambda invoke` sends them: each gets its response, and its data
//! is stored.

use std::collections::BTreeSet;
use std::path::Path;

use emulator::development_key;
use harness::{RequestBuilder, TestApp, TestResponse, read_event};
use lambda_http::RequestExt as _;
use lambda_http::request::from_str;
use serde_json::{Value, json};

/// The response to a sample event, and what it stores.
struct ExpectedResponse {
    file: &'static str,
    status: u16,
    /// Fields of the body. There may be others, such as a time.
    fields: Value,
    customers: usize,
    signals: usize,
    rejected_signals: usize,
}

fn expected() -> [ExpectedResponse; 8] {
    let stores_nothing = |file, status, fields| ExpectedResponse {
        file,
        status,
        fields,
        customers: 0,
        signals: 0,
        rejected_signals: 0,
    };
    let creates_a_customer = |file| ExpectedResponse {
        customers: 1,
        ..stores_nothing(
            file,
            200,
            json!({"customerId": "c-1001", "result": "created", "warnings": []}),
        )
    };
    let stores_signals = |file, accepted: usize, rejected: usize| ExpectedResponse {
        signals: accepted,
        rejected_signals: rejected,
        ..stores_nothing(
            file,
            200,
            json!({
                "received": accepted + rejected, "accepted": accepted, "rejected": rejected,
                "replayed": false, "warnings": [],
            }),
        )
    };
    [
        creates_a_customer("customers-create.json"),
        stores_nothing("customers-ping.json", 200, json!({"response": "pong"})),
        creates_a_customer("customers-update.json"),
        stores_signals("signals-events.json", 2, 0),
        stores_signals("signals-gzip.json", 2, 0),
        stores_signals("signals-partly-valid.json", 1, 1),
        stores_nothing("signals-preflight.json", 204, json!({})),
        stores_signals("signals-steps.json", 2, 0),
    ]
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../events")
}

#[test]
fn every_sample_event_has_an_expected_response() {
    // The sample data in events/seed is for `cargo intake import`, whose tests read it.
    let files = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    let names: BTreeSet<_> = files
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        expected().map(|expected| expected.file.to_owned()).into()
    );
}

#[tokio::test]
async fn sample_events_get_their_responses_and_are_stored() {
    for expected in expected() {
        let file = expected.file;
        let event = std::fs::read_to_string(folder().join(file)).unwrap();
        assert_read_as_lambda_http_does(&event);
        let call = RequestBuilder::from_event(&event);
        let function = if call.is_for_signals() {
            "signals"
        } else {
            "customers"
        };
        assert!(file.starts_with(function), "{file} is for {function}");
        let app = TestApp::start();
        development_key::load(&app.emulator, harness::template()).unwrap();
        let response = app.send(call).await;
        assert_eq!(response.status, expected.status, "{file}: {response:?}");
        assert_fields(&response, &expected.fields, file);
        for (table, count) in [
            ("CustomersTable", expected.customers),
            ("SignalsTable", expected.signals),
            ("RejectedSignalsTable", expected.rejected_signals),
        ] {
            let items = app.items(table).await;
            assert_eq!(items.len(), count, "{file}: {items:?}");
            assert!(
                items
                    .iter()
                    .all(|item| item["accountId"].as_s().unwrap() == development_key::ACCOUNT_ID)
            );
        }
    }
}

#[track_caller]
fn assert_fields(response: &TestResponse, fields: &Value, file: &str) {
    if response.status == 204 {
        assert_eq!(response.text, "", "{file}");
        return;
    }
    let body = response.json();
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(body.get(name), Some(value), "{file}: {}", response.text);
    }
}

/// The functions use four headers, and neither the query string nor other extensions of
/// `lambda_http`'s request.
fn assert_read_as_lambda_http_does(event: &str) {
    let ours = read_event(event.as_bytes(), "i1".to_owned());
    let theirs = from_str(event).unwrap();
    assert_eq!(ours.method(), theirs.method());
    assert_eq!(ours.raw_http_path(), theirs.raw_http_path());
    for name in [
        "authorization",
        "content-encoding",
        "content-type",
        "prefer",
    ] {
        assert_eq!(
            ours.headers().get(name),
            theirs.headers().get(name),
            "{name}"
        );
    }
    assert_eq!(ours.body(), theirs.body());
}
