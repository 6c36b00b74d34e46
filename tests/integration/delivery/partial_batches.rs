//! Records that are not delivered: Lambda delivers again the first one that the function reports,
//! and all that follow.

use std::time::Duration;

use harness::fake_s3::FakeS3;
use harness::fake_targets::{FakeTargets, Target};
use harness::fault_proxy::{Fault, FaultProxy};
use harness::function_process::{FunctionProcess, ProcessOptions};
use serde_json::{Value, json};

use crate::support::delivery::{
    BUS, Delivery, HANDLERS, LAKE, TestedHandler, delivered, ids, ids_of, ids_of_lines, options,
    signal, signals,
};

#[tokio::test]
async fn entry_that_the_bus_does_not_take_is_the_first_undelivered_record() {
    let delivery = Delivery::start(BUS).await;
    let batch = signals(0..30);
    delivery
        .targets
        .refuse(Target::Bus, "#0013", "ThrottlingException");
    delivery
        .targets
        .refuse(Target::Bus, "#0015", "InternalFailure");
    assert_eq!(
        delivery.first_undelivered(&batch).await.as_deref(),
        Some("s13")
    );
    // The bus has the rest of the call that failed, and nothing of a later call.
    assert_eq!(
        ids(&delivery.on_the_bus()),
        ids_of((0..13).chain([14]).chain(16..20))
    );
    delivery.targets.refuse_nothing();
    assert_eq!(delivery.first_undelivered(&batch[13..]).await, None);
    assert_eq!(ids(&delivery.on_the_bus()), ids_of(13..30));
}

#[tokio::test]
async fn first_event_of_a_record_that_the_lake_does_not_take_is_the_first_undelivered_one() {
    let delivery = Delivery::start(LAKE).await;
    let batch: Vec<_> = (0..12)
        .map(|n| signal(n, &json!({"x": {"S": "x".repeat(240_000)}})))
        .collect();
    // A record of Firehose has four of these events.
    delivery
        .targets
        .refuse(Target::Lake, "#0006", "ServiceUnavailableException");
    assert_eq!(
        delivery.first_undelivered(&batch).await.as_deref(),
        Some("s4")
    );
    // The lake has the rest of the call that failed.
    assert_eq!(
        ids_of_lines(&delivery.lines_of_the_lake()),
        ids_of((0..4).chain(8..12))
    );
    delivery.targets.refuse_nothing();
    assert_eq!(delivery.first_undelivered(&batch[4..]).await, None);
    assert_eq!(ids_of_lines(&delivery.lines_of_the_lake()), ids_of(4..12));
}

#[tokio::test]
async fn unavailable_target_delays_its_records_and_loses_none() {
    for handler in HANDLERS {
        let mut delivery = Delivery::start(handler.variables).await;
        let batch = signals(0..3);
        delivery.targets.set_unavailable(handler.target);
        assert_eq!(
            delivery.first_undelivered(&batch).await.as_deref(),
            Some("s0")
        );
        let line = delivery.line().await;
        assert_eq!(line["failedTarget"], handler.name, "{line}");
        assert_eq!(line["cause"], "InternalFailure", "{line}");
        let tries = delivery.targets.take_calls().len();
        assert_eq!(tries, 3, "the SDK's retries");
        assert_eq!(delivery.delivered().len(), 0);
        delivery.targets.refuse_nothing();
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        assert_eq!(delivery.delivered(), ids_of(0..3));
    }
}

#[tokio::test]
async fn target_that_begins_to_hang_keeps_what_it_took() {
    let targets = FakeTargets::start().await.unwrap();
    let s3 = FakeS3::start().await.unwrap();
    // Firehose takes the first call and responds to no later one.
    let hanging = Fault::Hanging.on_calls(2..u64::MAX);
    let firehose = FaultProxy::start(&targets.endpoint(), hanging)
        .await
        .unwrap();
    let endpoint = firehose.endpoint();
    let variables = [LAKE, &[("AWS_ENDPOINT_URL_FIREHOSE", &endpoint)]].concat();
    let (options, _log) = options(&targets, &s3, &variables);
    let options = ProcessOptions {
        invocation_timeout: Duration::from_secs(4),
        ..options
    };
    let process = FunctionProcess::start(&options).await.unwrap();
    // A call has twelve of these events.
    let batch: Vec<_> = (0..16)
        .map(|n| signal(n, &json!({"x": {"S": "x".repeat(240_000)}})))
        .collect();
    let event = json!({"Records": batch}).to_string();
    let response = process.invoke(event).await.unwrap().json();
    assert_eq!(
        response["batchItemFailures"],
        json!([{"itemIdentifier": "s12"}])
    );
    assert_eq!(delivered(&targets).len(), 12);
}

#[tokio::test]
async fn call_that_the_function_may_not_make_keeps_no_event() {
    for (code, cause) in [
        ("AccessDeniedException", "AccessDeniedException"),
        ("ExpiredTokenException", "InvalidCredentials"),
    ] {
        for handler in HANDLERS {
            let mut delivery = Delivery::start(handler.variables).await;
            let refusal = json!({"__type": code});
            delivery.targets.respond(handler.target, "", 400, refusal);
            assert_eq!(
                delivery.first_undelivered(&signals(0..3)).await.as_deref(),
                Some("s0")
            );
            assert_eq!(delivery.line().await["cause"], cause);
            assert_eq!(delivery.targets.take_calls().len(), 1);
            assert_eq!(delivery.kept().len(), 0);
        }
    }
}

#[tokio::test]
async fn success_without_a_result_for_each_event_is_a_failure() {
    let [bus, lake] = HANDLERS;
    let of_bus = [
        json!([]),
        json!([{"EventId": "1"}, {"EventId": "2"}]),
        json!([{}, {"EventId": "2"}, {"EventId": "3"}]),
    ]
    .map(|entries| json!({"FailedEntryCount": 0, "Entries": entries}));
    let of_lake = [json!([]), json!([{}])].map(
        |results| json!({"FailedPutCount": 0, "Encrypted": false, "RequestResponses": results}),
    );
    assert_responses_are_failures(bus, &of_bus).await;
    assert_responses_are_failures(lake, &of_lake).await;
}

/// Each of these responses of the target to three events is a failure.
async fn assert_responses_are_failures(handler: TestedHandler, bodies: &[Value]) {
    let mut delivery = Delivery::start(handler.variables).await;
    for body in bodies {
        delivery
            .targets
            .respond(handler.target, "", 200, body.clone());
        assert_eq!(
            delivery.first_undelivered(&signals(0..3)).await.as_deref(),
            Some("s0"),
            "{body}"
        );
        let line = delivery.line().await;
        assert_eq!(line["cause"], "ResponseError", "{line}");
        delivery.targets.refuse_nothing();
        assert_eq!(delivery.first_undelivered(&signals(0..3)).await, None);
        assert_eq!(delivery.line().await["RecordsDelivered"], 3);
    }
}

#[tokio::test]
async fn record_without_a_sequence_number_delays_the_whole_batch() {
    let delivery = Delivery::start(BUS).await;
    let mut batch = signals(0..3);
    batch[1]["dynamodb"]
        .as_object_mut()
        .unwrap()
        .remove("SequenceNumber");
    delivery
        .targets
        .refuse(Target::Bus, "#0001", "InternalFailure");
    assert_eq!(
        delivery.first_undelivered(&batch).await.as_deref(),
        Some("")
    );
}

#[tokio::test]
async fn target_that_refuses_every_call_keeps_the_stream_waiting() {
    for handler in HANDLERS {
        let delivery = Delivery::start(handler.variables).await;
        let refusal = json!({"__type": handler.refusal});
        delivery.targets.respond(handler.target, "", 400, refusal);
        assert_stream_waits(handler, handler.refusal, delivery).await;
    }
}

#[tokio::test]
async fn bus_that_refuses_every_entry_keeps_the_stream_waiting() {
    let [bus, _] = HANDLERS;
    let delivery = Delivery::start(bus.variables).await;
    // The bus refuses each entry, and takes the call.
    let code = "MalformedDetail";
    delivery.targets.refuse(bus.target, "", code);
    assert_stream_waits(bus, code, delivery).await;
}

/// The stream waits while the target takes no event of several.
async fn assert_stream_waits(handler: TestedHandler, code: &str, mut delivery: Delivery) {
    for batch in [signals(0..25), signals(0..2)] {
        let first_undelivered = delivery.first_undelivered(&batch).await;
        assert_eq!(first_undelivered.as_deref(), Some("s0"), "{code}");
        let line = delivery.line().await;
        assert_eq!(line["failedTarget"], handler.name, "{line}");
        assert_eq!(line["cause"], code, "{line}");
    }
    assert!(
        delivery.kept().len() <= 1,
        "the record whose claim check was tried"
    );
    // One record alone never keeps the stream waiting.
    let one = signals([7]);
    assert_eq!(delivery.first_undelivered(&one).await, None, "{code}");
    delivery.targets.refuse_nothing();
    delivery.delivered();
    assert_eq!(delivery.first_undelivered(&signals(0..25)).await, None);
    assert_eq!(delivery.delivered(), ids_of(0..25));
}
