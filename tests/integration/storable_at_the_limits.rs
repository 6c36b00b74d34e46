//! Bodies that are at every limit of docs/api.md at once: DynamoDB stores them. What it refuses all the
//! same is too large for an item, and does not raise `DefectsAlarm`. `.ci/nightly dynamodb` runs these tests over
//! AWS's own emulator.

use std::time::Duration;

use aws::deadline::Deadline;
use harness::{RequestBuilder, TestApp, TestResponse, client_at, table_name};
use model::account::MAX_ACCOUNT_ID_CHARS;
use model::batch::Batch;
use model::customer::PROFILE_FIELDS;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use model::limits::{
    MAX_IDENTIFIER_CHARS, MAX_NAME_BYTES, MAX_NESTING_DEPTH, MAX_NUMBER_DIGITS,
    MAX_PROFILE_VALUE_CHARS, MAX_SIGNAL_BYTES, MAX_UNKNOWN_FIELDS, MAX_UNKNOWN_NAME_CHARS,
    MAX_UNKNOWN_VALUE_CHARS,
};
use serde_json::Value;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::error::StoreError;
use store::signals::SignalsTable;

use crate::support::clock::NOW;
use crate::support::logs::{log_of, request_lines};

/// A character of four bytes in UTF-8.
const WIDE: &str = "\u{1d11e}";

/// Numbers with as many digits as DynamoDB stores, at both ends of its range.
fn numbers() -> [String; 4] {
    let digits = "9".repeat(MAX_NUMBER_DIGITS - 1);
    let largest = format!("9.{digits}E+125");
    let smallest = format!("1.{}1E-130", "0".repeat(MAX_NUMBER_DIGITS - 2));
    [
        largest.clone(),
        format!("-{largest}"),
        smallest.clone(),
        format!("-{smallest}"),
    ]
}

fn nested(depth: usize, inner: &str) -> String {
    format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth))
}

/// A name of an unknown field, as long as possible, and another one for each number.
fn unknown_name(number: usize) -> String {
    format!("{}{number:03}", WIDE.repeat(MAX_UNKNOWN_NAME_CHARS - 3))
}

/// An update with all documented fields, and as many new ones as a request may have, the first of which has
/// this number.
fn update(first_field: usize) -> String {
    let id = WIDE.repeat(MAX_IDENTIFIER_CHARS);
    let wide_value = format!("\"{}\"", WIDE.repeat(MAX_UNKNOWN_VALUE_CHARS - 2));
    let mut values = vec![nested(MAX_NESTING_DEPTH, "1"), wide_value.clone()];
    values.extend(numbers());
    values.resize(MAX_UNKNOWN_FIELDS, wide_value);
    let documented = PROFILE_FIELDS.iter().map(|name| {
        let value = WIDE.repeat(MAX_PROFILE_VALUE_CHARS);
        format!("\"{name}\":\"{value}\"")
    });
    let unknown = values.iter().enumerate().map(|(number, value)| {
        let name = unknown_name(first_field + number);
        format!("\"{name}\":{value}")
    });
    let fields: Vec<_> = documented.chain(unknown).collect();
    let fields = fields.join(",");
    format!("{{\"customerId\":\"{id}\",\"customerData\":{{{fields}}}}}")
}

/// A batch of a signal with the longest identifiers, and these members of its data and beside them.
fn batch(data: &str, unknown: &str) -> String {
    let id = WIDE.repeat(MAX_IDENTIFIER_CHARS);
    format!(
        "{{\"signals\":[{{\"customerId\":\"{id}\",\"eventType\":\"{id}\",\"data\":{{{data}}}{unknown}}}]}}"
    )
}

/// Sends bodies one after another, and returns the responses and the request lines of the log.
async fn send(paths_and_bodies: Vec<RequestBuilder>) -> (Vec<TestResponse>, Vec<Value>) {
    let (responses, log) = log_of(async |log| {
        let mut app = TestApp::start();
        app.log = log;
        let key = app.key(&"a".repeat(MAX_ACCOUNT_ID_CHARS)).await;
        let mut responses = Vec::new();
        for request in paths_and_bodies {
            responses.push(app.send(request.key(&key)).await);
        }
        responses
    })
    .await;
    let lines = request_lines(&log);
    assert_eq!(lines.len(), responses.len());
    for line in &lines {
        assert_eq!(line["InvalidCalls"], Value::Null, "{line}");
    }
    (responses, lines)
}

#[tokio::test]
async fn customer_at_every_limit_is_stored_until_the_item_is_full() {
    // The second update changes fields that have fences, and each one after it adds fields.
    let updates = [0, 0]
        .into_iter()
        .chain((1..8).map(|n| n * MAX_UNKNOWN_FIELDS));
    let requests = updates.map(|first| RequestBuilder::customer(update(first)));
    let (responses, _) = send(requests.collect()).await;
    let statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
    assert_eq!(statuses[..3], [200; 3], "{}", responses[0].text);
    assert!(statuses.iter().all(|status| [200, 422].contains(status)));
    let of_full_item = responses.last().unwrap();
    of_full_item.assert_problem(422, "customer-too-large");
}

#[tokio::test]
async fn signal_at_every_limit_is_stored() {
    let long_name = "n".repeat(MAX_NAME_BYTES);
    let deep = nested(MAX_NESTING_DEPTH - 1, "1");
    let numbers = numbers().join(",");
    let deep_and_long = batch(
        &format!("\"text\":\"\",\"deep\":{deep},\"numbers\":[{numbers}],\"{long_name}\":{{}}"),
        &format!(",\"unknown\":{deep},\"{long_name}\":1"),
    );
    let text =
        "x".repeat(MAX_SIGNAL_BYTES - batch("\"x\":\"\"", "").len() + "{\"signals\":[]}".len());
    let largest = batch(&format!("\"x\":\"{text}\""), "");
    let requests = [deep_and_long, largest].map(RequestBuilder::signals);
    let (responses, lines) = send(requests.into()).await;
    for (response, line) in responses.iter().zip(lines) {
        assert_eq!(response.json()["accepted"], 1, "{}", response.text);
        assert_eq!(line["storeError"], Value::Null, "{line}");
    }
}

/// The table is called without a request, and with a client that waits: on a busy machine, the emulator takes longer
/// for this item than the write budget.
#[tokio::test]
async fn signal_whose_item_is_too_large_is_refused_and_no_fault_of_the_service() {
    let app = TestApp::start();
    let lists = vec!["[1]"; 60_000].join(",");
    let body = batch(&format!("\"x\":[{lists}]"), "");
    let parsed = Batch::parse(JsonText::parse(&body).unwrap()).unwrap();
    assert_eq!(parsed.signals.len(), 1);
    let account = "shop".parse().unwrap();
    let request_identifier = RequestIdentifier::random();
    let context = BatchContext {
        account_id: &account,
        key_id: "key_1",
        request_identifier: &request_identifier,
        first_received_at: NOW,
        request_id: "request",
    };
    let client = client_at(&app.emulator.endpoint());
    let table = SignalsTable::new(client, table_name("SignalsTable"), None);
    let deadline = Deadline::after(Duration::from_mins(1));
    let outcomes = table.store(context, &parsed.signals, deadline).await;
    let [ItemOutcome::Refused(error)] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    assert_eq!(*error, StoreError::ItemTooLarge);
    assert_eq!(error.own_fault(), None);
}
