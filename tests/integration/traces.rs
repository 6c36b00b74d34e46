//! A traced invocation sends X-Ray one subsegment for each attempt of a call to DynamoDB.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_sqs::{FakeSqs, OVERFLOW_QUEUE};
use testkit::fault_proxy::{Fault, FaultProxy, Rule};
use testkit::function_process::{FunctionProcess, ProcessOptions};
use testkit::runtime_api::{PARENT_ID, TRACE_ID};
use testkit::{RequestBuilder, Tables, TestApp, build_functions, emulator_options};
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// The subsegments of a batch of one signal with a requestIdentifier, whose calls fail as `rule` says, over this queue.
async fn subsegments(is_traced: bool, rule: Rule, queue: &FakeSqs) -> Vec<Value> {
    let app = TestApp::start();
    let key = app.key("acme").await;
    let proxy = FaultProxy::start(&app.emulator.endpoint(), rule).await.unwrap();
    let daemon = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut options = emulator_options(&build_functions().unwrap().join("signals"), &proxy.endpoint());
    let address = daemon.local_addr().unwrap().to_string();
    options.variables.push(("AWS_XRAY_DAEMON_ADDRESS".to_owned(), address.into()));
    options.variables.push(("OVERFLOW_QUEUE_URL".to_owned(), OVERFLOW_QUEUE.into()));
    options.variables.push(("AWS_ENDPOINT_URL_SQS".to_owned(), queue.endpoint().into()));
    let process = FunctionProcess::start(&ProcessOptions { is_traced, ..options }).await.unwrap();
    let signals = json!([{"customerId": "c1", "eventType": "purchase"}]);
    let body = json!({"requestIdentifier": "7f3a0f52-9f8e-4f5a-8f4e-2f1a5c1d9e11", "signals": signals});
    let response = process.invoke(RequestBuilder::signals(body).key(&key).event()).await.unwrap().json();
    assert_eq!(response.get("statusCode"), Some(&json!(200)), "{response}");
    // The function sent them before its response, so all of them have arrived.
    let mut documents = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(received) = timeout(Duration::from_millis(100), daemon.recv(&mut buffer)).await {
        let text = std::str::from_utf8(buffer.get(..received.unwrap()).unwrap()).unwrap();
        let (header, document) = text.split_once('\n').unwrap();
        assert_eq!(header, r#"{"format":"json","version":1}"#);
        documents.push(serde_json::from_str(document).unwrap());
    }
    documents
}

/// Asserts that `document` is a subsegment with this call and outcome.
fn assert_subsegment(document: &Value, [operation, table]: [&str; 2], outcome: &Value) {
    let mut document = document.clone();
    let members = document.as_object_mut().unwrap();
    let [begin, end] = ["start_time", "end_time"].map(|name| members.remove(name).unwrap().as_f64().unwrap());
    assert!(1.7e9 < begin && begin <= end && end < begin + 10.0, "{begin} to {end}");
    let id = members.remove("id").unwrap();
    assert!(id.as_str().unwrap().len() == 16 && id.as_str().unwrap().chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    let mut expected = json!({
        "name": "DynamoDB", "trace_id": TRACE_ID, "parent_id": PARENT_ID, "type": "subsegment", "namespace": "aws",
        "aws": {"operation": operation, "table_name": Tables::name(table)},
        "error": false, "throttle": false, "fault": false,
    });
    expected.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
    assert_eq!(document, expected);
}

#[tokio::test]
async fn traced_invocation_sends_a_subsegment_for_each_attempt() {
    for (fault, outcome) in [
        (Fault::Throttled, json!({"error": true, "throttle": true})),
        (Fault::Invalid, json!({"error": true})),
        (Fault::InternalServerError, json!({"fault": true})),
        (Fault::ResetBefore, json!({"fault": true})),
    ] {
        let queue = FakeSqs::start().await.unwrap();
        let documents = subsegments(true, fault.at(1).of("BatchWriteItem"), &queue).await;
        let [get, put, failed, written] = &documents[..] else { panic!("{documents:?}") };
        // What DynamoDB finds invalid is written one by one.
        let operation = if outcome == json!({"error": true}) { "PutItem" } else { "BatchWriteItem" };
        assert_subsegment(get, ["GetItem", "ApiKeysTable"], &json!({}));
        assert_subsegment(put, ["PutItem", "IdempotencyTable"], &json!({}));
        assert_subsegment(failed, ["BatchWriteItem", "SignalsTable"], &outcome);
        assert_subsegment(written, [operation, "SignalsTable"], &json!({}));
    }
}

#[tokio::test]
async fn invocation_that_is_not_traced_sends_nothing() {
    let queue = FakeSqs::start().await.unwrap();
    let documents = subsegments(false, Fault::Throttled.at(1).of("BatchWriteItem"), &queue).await;
    assert_eq!(documents, [] as [Value; 0]);
}

#[tokio::test]
async fn call_to_the_overflow_queue_is_no_call_to_dynamodb() {
    let queue = FakeSqs::start().await.unwrap();
    let documents = subsegments(true, Fault::ServiceUnavailable.always().of("BatchWriteItem"), &queue).await;
    assert_eq!(queue.take_messages().len(), 1);
    let mut operations: Vec<_> =
        documents.iter().filter_map(|document| document["aws"]["operation"].as_str()).collect();
    operations.dedup();
    assert_eq!(operations, ["GetItem", "PutItem", "BatchWriteItem"]);
}
