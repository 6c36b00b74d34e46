//! What goes over the wire to each target, and which handler a process has.

use std::time::Duration;

use harness::fake_s3::FakeS3;
use harness::fake_targets::{Call, FakeTargets, Target};
use harness::function_process::FunctionProcess;
use serde_json::{Value, json};

use crate::support::delivery::{
    BUS, Delivery, HANDLERS, LAKE, change_of_customer, customer, id, options, signal, signals,
};
use crate::support::slow_server::SlowServer;

#[tokio::test]
async fn signal_goes_to_the_bus_and_to_the_lake_as_one_cloud_event() {
    let records = [signal(7, &json!({"price": {"N": "49.90"}}))];
    let [of_bus, of_lake] = [Delivery::start(BUS).await, Delivery::start(LAKE).await];
    for delivery in [&of_bus, &of_lake] {
        let response = delivery.deliver(&records).await;
        assert_eq!(response, json!({"batchItemFailures": []}));
    }
    let event = format!(
        concat!(
            r#"{{"specversion":"1.0","id":"{}","source":"/accounts/acme/signals","type":"purchase","subject":"c","#,
            r#""time":"2026-11-20T22:33:44.123Z","datacontenttype":"application/json","#,
            r#""data":{{"customerId":"c","eventType":"purchase","data":{{"price":49.90}}}}}}"#
        ),
        id(7)
    );
    assert_eq!(of_lake.targets.take_records(), [format!("{event}\n")]);
    let [bus, lake] = [only_call(&of_bus), only_call(&of_lake)];
    let body: Value = serde_json::from_str(&bus.body).unwrap();
    let entry = json!({"Time": 1_795_214_024.123, "Source": "intake", "DetailType": "signal", "Detail": event,
        "EventBusName": "company"});
    assert_eq!(body, json!({"Entries": [entry]}));
    let body: Value = serde_json::from_str(&lake.body).unwrap();
    assert_eq!(body["DeliveryStreamName"], "intake-lake");
    for (call, service) in [(&bus, "events"), (&lake, "firehose")] {
        assert!(
            call.headers["authorization"]
                .contains(&format!("/eu-central-1/{service}/aws4_request")),
            "{call:?}"
        );
        assert!(call.headers.contains_key("x-amz-security-token"));
    }
}

/// The one call that the process made.
fn only_call(delivery: &Delivery) -> Call {
    let mut calls = delivery.targets.take_calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    calls.remove(0)
}

#[tokio::test]
async fn customer_change_has_its_own_detail_type_and_source() {
    let [of_bus, of_lake] = [Delivery::start(BUS).await, Delivery::start(LAKE).await];
    let old = customer("2026-11-20T22:33:44.123Z", "Rome");
    let new = customer("2026-11-21T22:33:44.123Z", "Oslo");
    let records = [
        change_of_customer("INSERT", "INSERT", None, Some(&old)),
        change_of_customer("MODIFY", "MODIFY", Some(&old), Some(&new)),
        change_of_customer("REMOVE", "REMOVE", Some(&new), None),
    ];
    for delivery in [&of_bus, &of_lake] {
        assert_eq!(delivery.first_undelivered(&records).await, None);
    }
    let entries = of_bus.targets.take_entries();
    assert!(
        entries
            .iter()
            .all(|entry| entry["DetailType"] == "customer" && entry["Source"] == "intake")
    );
    let lines = of_lake.lines_of_the_lake();
    assert_eq!(
        entries
            .iter()
            .map(|entry| entry["Detail"].as_str().unwrap())
            .collect::<Vec<_>>(),
        lines
    );
    let [created, updated, deleted] =
        [0, 1, 2].map(|n| serde_json::from_str::<Value>(&lines[n]).unwrap());
    assert_eq!(created["type"], "intake.customer.created");
    assert_eq!(created["data"], json!({"new": {"city": "Rome"}}));
    assert_eq!(updated["type"], "intake.customer.updated");
    assert_eq!(updated["time"], "2026-11-21T22:33:44.123Z");
    assert_eq!(
        updated["data"],
        json!({"old": {"city": "Rome"}, "new": {"city": "Oslo"}})
    );
    let expected = json!({"specversion": "1.0", "id": "REMOVE", "source": "/accounts/acme/customers", "subject": "c",
        "type": "intake.customer.deleted", "time": "2026-11-20T22:33:44.000Z"});
    assert_eq!(deleted, expected);
}

#[tokio::test]
async fn process_without_one_target_or_a_failure_bucket_names_the_variables() {
    let not_one = "exactly one of the environment variables EVENT_BUS_NAME and DELIVERY_STREAM_NAME must be set";
    for (variables, why) in [
        (&[][..], not_one),
        (&[BUS[0], LAKE[0]], not_one),
        (
            &[("EVENT_BUS_NAME", ""), ("DELIVERY_STREAM_NAME", "")],
            not_one,
        ),
        (
            &[BUS[0], ("FAILURE_BUCKET_NAME", "")],
            "the environment variable FAILURE_BUCKET_NAME is missing: the template of the function sets it",
        ),
    ] {
        let mut delivery = Delivery::start(variables).await;
        let response = delivery.deliver(&[]).await;
        assert!(
            response["errorMessage"].as_str().unwrap().starts_with(why),
            "{response}"
        );
        assert!(delivery.log.recv().await.unwrap().contains(why));
    }
}

#[tokio::test]
async fn one_line_of_the_log_has_the_counts_and_no_value() {
    let mut delivery = Delivery::start(BUS).await;
    let mut records = signals(0..12);
    records[1]["eventName"] = json!("MODIFY");
    records[2]["dynamodb"]["NewImage"]["data"] =
        json!({"M": {"large": {"N": "12345678901234567890"}}});
    records[3]["dynamodb"]["Keys"] = json!({"other": {"S": "a secret value"}});
    delivery
        .targets
        .refuse(Target::Bus, "#0011", "ThrottlingException");
    assert_eq!(
        delivery.first_undelivered(&records).await.as_deref(),
        Some("s11")
    );
    let line = delivery.line().await;
    let expected = [
        ("level", json!("ERROR")),
        ("message", json!("delivered")),
        ("records", json!(12)),
        ("failedTarget", json!("bus")),
        ("cause", json!("ThrottlingException")),
        ("RecordsDelivered", json!(9)),
        ("RecordsSkipped", json!(1)),
        ("RecordsUnreadable", json!(1)),
        ("RecordsUndelivered", json!(1)),
        ("EventClaimChecks", json!(1)),
    ];
    for (name, value) in expected {
        assert_eq!(line[name], value, "{name} in {line}");
    }
    let text = line.to_string();
    assert!(
        ["secret", "purchase", "acme", "6f1c0a52"]
            .iter()
            .all(|value| !text.contains(value)),
        "{text}"
    );
}

#[tokio::test]
async fn payload_that_is_no_event_of_a_stream_fails_the_invocation() {
    for handler in HANDLERS {
        assert_other_payload_fails(Delivery::start(handler.variables).await).await;
    }
}

async fn assert_other_payload_fails(mut delivery: Delivery) {
    for payload in [
        r#"{"records":[]}"#,
        r#"{"Records":"a secret value"}"#,
        r#"["a secret value"]"#,
        "null",
    ] {
        let response = delivery.process.invoke(payload).await.unwrap().json();
        assert_eq!(
            response["errorMessage"],
            "the payload is not an event of a DynamoDB stream"
        );
        let line = delivery.line().await;
        assert_eq!(line["level"], "ERROR", "{line}");
        assert_eq!(line["message"], response["errorMessage"], "{line}");
        let runtime_line = delivery.line().await;
        assert_eq!(runtime_line["message"], "UnreadableEvent");
        assert!(
            !format!("{line}{runtime_line}").contains("secret"),
            "{line}"
        );
    }
    assert_eq!(delivery.process.invocation_errors(), 4);
    assert_eq!(delivery.first_undelivered(&[]).await, None);
    assert_eq!(delivery.targets.take_calls().len(), 0);
}

/// The functions of the API abandon connections to DynamoDB that do not respond for 400 ms. A bus may take longer.
#[tokio::test]
async fn bus_that_responds_after_600_ms_is_called_on_one_connection() {
    let response = r#"{"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]}"#;
    let bus = SlowServer::start(Duration::from_millis(600), response).await;
    let targets = FakeTargets::start().await.unwrap();
    let s3 = FakeS3::start().await.unwrap();
    let (mut options, _log) = options(&targets, &s3, BUS);
    let endpoint = (
        "AWS_ENDPOINT_URL_EVENTBRIDGE".to_owned(),
        bus.endpoint().into(),
    );
    options.variables.push(endpoint);
    let process = FunctionProcess::start(&options).await.unwrap();
    for number in [0, 1] {
        let event = json!({"Records": signals([number])}).to_string();
        let response = process.invoke(event).await.unwrap().json();
        assert_eq!(response, json!({"batchItemFailures": []}));
    }
    assert_eq!(bus.connections(), 1);
}
