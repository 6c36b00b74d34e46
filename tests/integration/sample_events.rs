//! The events in events/, as `cargo lambda invoke` sends them: each gets its response, and its data
//! is stored.

use std::collections::BTreeSet;
use std::path::Path;

use emulator::development_key;
use lambda_http::RequestExt as _;
use lambda_http::request::from_str;
use lambda_runtime::Context;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp, TestResponse, read_event};

/// The response to a sample event, and the numbers of customers, signals and rejected signals that
/// it stores.
struct Expected {
    file: &'static str,
    status: u16,
    /// Fields of the body. There may be others, such as a time.
    fields: Value,
    stored: [usize; 3],
}

fn expected() -> [Expected; 8] {
    let expect = |file, status, fields, stored| Expected {
        file,
        status,
        fields,
        stored,
    };
    let batch = |received: usize, accepted: usize| {
        let rejected = received - accepted;
        json!({"received": received, "accepted": accepted, "rejected": rejected, "replayed": false, "warnings": []})
    };
    let created = json!({"customerId": "c-1001", "result": "created", "warnings": []});
    [
        expect("customers-create.json", 200, created.clone(), [1, 0, 0]),
        expect(
            "customers-ping.json",
            200,
            json!({"response": "pong"}),
            [0, 0, 0],
        ),
        expect("customers-update.json", 200, created, [1, 0, 0]),
        expect("signals-events.json", 200, batch(2, 2), [0, 2, 0]),
        expect("signals-gzip.json", 200, batch(2, 2), [0, 2, 0]),
        expect("signals-partly-valid.json", 200, batch(2, 1), [0, 1, 1]),
        expect("signals-preflight.json", 204, json!({}), [0, 0, 0]),
        expect("signals-steps.json", 200, batch(2, 2), [0, 2, 0]),
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
    for Expected {
        file,
        status,
        fields,
        stored,
    } in expected()
    {
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
        development_key::load(&app.emulator, testkit::template()).unwrap();
        let response = app.send(call).await;
        assert_eq!(response.status, status, "{file}: {}", response.text);
        assert_fields(&response, &fields, file);
        let tables = ["CustomersTable", "SignalsTable", "RejectedSignalsTable"];
        for (table, count) in tables.into_iter().zip(stored) {
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

#[tokio::test]
async fn sample_event_of_the_overflow_queue_is_drained() {
    let app = TestApp::start();
    let event = std::fs::read_to_string(folder().join("overflow/event.json")).unwrap();
    let drained = app
        .overflow
        .drain(
            serde_json::from_str(&event).unwrap(),
            &Context::default(),
            Timestamp::now(),
            &app.log,
        )
        .await;
    assert_eq!(drained.response.batch_item_failures.len(), 0);
    assert_eq!(app.items("SignalsTable").await.len(), 2);
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
    let (ours, theirs) = (
        read_event(event.as_bytes(), "i1".to_owned()),
        from_str(event).unwrap(),
    );
    assert_eq!(
        (ours.method(), ours.raw_http_path()),
        (theirs.method(), theirs.raw_http_path())
    );
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
