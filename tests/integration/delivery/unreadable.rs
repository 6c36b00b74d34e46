//! Records that cannot be delivered, or not whole: the shard goes on.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_targets::Target;

use crate::support::delivery::{
    BOTH, BUCKET, Delivery, id, ids, ids_of, ids_of_lines, signal, signals,
};

/// The key of the record of the signal with this number.
fn key(number: usize) -> String {
    format!("unreadable/2026/11/20/{number:032x}.json")
}

/// The reference to the event of the signal with this number.
fn reference(number: usize, dataref: &str) -> Value {
    json!({"specversion": "1.0", "id": id(number), "source": "/accounts/acme/signals", "type": "purchase", "subject": "c",
        "time": "2026-11-20T22:33:44.123Z", "dataref": dataref})
}

/// Data that no entry of the bus can have, and data that EventBridge does not take.
fn not_for_the_bus() -> [Value; 2] {
    [
        json!({"x": {"S": "x".repeat(256 * 1024)}}),
        json!({"n": {"N": "9223372036854775808"}}),
    ]
}

#[tokio::test]
async fn record_of_an_unknown_shape_is_kept_and_the_shard_goes_on() {
    let delivery = Delivery::start(BOTH).await;
    let mut batch = signals(0..4);
    batch[1]["dynamodb"]["Keys"] = json!({"keyHash": {"S": "00"}});
    batch[2] = json!({"what": ["is", 1.50]});
    for _ in 0..2 {
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        assert_eq!(ids(&delivery.on_the_bus()), ids_of([0, 3]));
        assert_eq!(ids_of_lines(&delivery.lines_of_the_lake()), ids_of([0, 3]));
    }
    let kept = delivery.kept();
    assert_eq!(
        kept.len(),
        2,
        "the repeated batch wrote the same keys: {kept:?}"
    );
    assert_eq!(kept[&key(1)]["record"], batch[1]);
    let reason = kept[&key(1)]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with(
            "the record is not one of a stream of this service: unknown field `keyHash`"
        ),
        "{reason}"
    );
    let (other, object) = kept.iter().find(|(other, _)| **other != key(1)).unwrap();
    let today = model::timestamp::Timestamp::now().to_string()[..10].replace('-', "/");
    assert!(
        other.starts_with(&format!("unreadable/{today}/")) && other.len() == 21 + 64 + 5 + 1,
        "{other}"
    );
    assert_eq!(object["record"], batch[2]);
    let put = delivery
        .targets
        .take_calls()
        .into_iter()
        .find(|call| call.target == Target::Bucket)
        .unwrap();
    assert_eq!(put.path, format!("/{BUCKET}/{}", key(1)));
    assert_eq!(put.headers["content-type"], "application/json");
    let signature = &put.headers["authorization"];
    assert!(
        signature.starts_with("AWS4-HMAC-SHA256 Credential=ASIAIOSFODNN7EXAMPLE/"),
        "{signature}"
    );
    assert!(signature.contains(
        "/eu-central-1/s3/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;"
    ));
    let digest = model::digest::Digest::sha256(&put.body).to_hex();
    assert_eq!(put.headers["x-amz-content-sha256"], digest);
}

#[tokio::test]
async fn record_whose_event_id_has_another_form_is_kept_under_its_sequence_number() {
    let delivery = Delivery::start(BOTH).await;
    let mut batch = signals(0..1);
    batch[0]["eventID"] = json!("../../other");
    batch[0]["eventName"] = json!("UPDATE");
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(
        delivery.kept().keys().collect::<Vec<_>>(),
        ["unreadable/2026/11/20/s0.json"]
    );
}

#[tokio::test]
async fn record_that_cannot_be_kept_is_delivered_again() {
    let mut delivery = Delivery::start(BOTH).await;
    let mut batch = signals(0..4);
    batch[2]["eventName"] = json!("UPDATE");
    delivery.targets.set_unavailable(Target::Bucket);
    let undelivered = delivery.first_undelivered(&batch).await;
    assert_eq!(undelivered.as_deref(), Some("s2"));
    assert_eq!(ids(&delivery.on_the_bus()), ids_of([0, 1]));
    let line = delivery.line().await;
    assert_eq!(line["failedTarget"], "failure bucket", "{line}");
    assert_eq!(line["cause"], "ServerError", "{line}");
    delivery.targets.refuse_nothing();
    assert_eq!(delivery.first_undelivered(&batch[2..]).await, None);
    assert_eq!(delivery.kept().keys().collect::<Vec<_>>(), [&key(2)]);
}

#[tokio::test]
async fn batch_full_of_unreadable_records_progresses_while_s3_is_slow() {
    let delivery = Delivery::start_with_timeout(BOTH, Duration::from_secs(4)).await;
    // One by one, they would take 10 seconds, and the event before them would never have a target.
    delivery.targets.delay_bucket(Duration::from_millis(20));
    let mut batch = signals(0..502);
    for record in &mut batch[1..501] {
        record["eventName"] = json!("UPDATE");
    }
    let mut first = 0;
    let mut invocations = 0;
    while let Some(undelivered) = delivery.first_undelivered(&batch[first..]).await {
        let undelivered = undelivered[1..].parse().unwrap();
        assert!(undelivered > first, "no progress at {first}");
        first = undelivered;
        invocations += 1;
    }
    assert!(invocations < 10, "{invocations}");
    assert_eq!(ids(&delivery.on_the_bus()), ids_of([0, 501]));
    assert_eq!(
        ids_of_lines(&delivery.lines_of_the_lake()),
        ids_of([0, 501])
    );
    assert_eq!(
        delivery.kept().into_keys().collect::<Vec<_>>(),
        (1..501).map(key).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn event_that_the_bus_cannot_have_is_whole_in_the_lake() {
    let delivery = Delivery::start(BOTH).await;
    for data in not_for_the_bus() {
        let batch = [
            signal(0, &json!({})),
            signal(1, &data),
            signal(2, &json!({})),
        ];
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let events = delivery.on_the_bus();
        assert_eq!(ids(&events), ids_of(0..3));
        assert_eq!(events[1], reference(1, "urn:intake:lake"));
        let lines = delivery.lines_of_the_lake();
        assert_eq!(ids_of_lines(&lines), ids_of(0..3));
        assert!(
            lines[1].contains("\"data\":{\"customerId\""),
            "{}",
            lines[1]
        );
        assert!(!lines[1].contains("dataref"), "{}", lines[1]);
    }
    assert_eq!(delivery.kept().len(), 0);
}

#[tokio::test]
async fn reference_leads_to_the_lake_that_another_function_fills() {
    let delivery = Delivery::start(&[BOTH[0], ("LAKE_BUCKET_NAME", "intake-lake")]).await;
    for data in not_for_the_bus() {
        let undelivered = delivery
            .first_undelivered(&[signal(0, &json!({})), signal(1, &data)])
            .await;
        assert_eq!(undelivered, None);
        assert_eq!(delivery.on_the_bus()[1], reference(1, "urn:intake:lake"));
    }
    assert_eq!(delivery.lines_of_the_lake().len(), 0);
    assert_eq!(delivery.kept().len(), 0);
    // This event is too large for any lake.
    let too_large = signal(0, &json!({"x": {"S": "\u{1}".repeat(200_000)}}));
    assert_eq!(delivery.first_undelivered(&[too_large]).await, None);
    assert_eq!(
        delivery.on_the_bus(),
        [reference(0, &format!("s3://{BUCKET}/{}", key(0)))]
    );
}

#[tokio::test]
async fn event_that_the_bus_cannot_have_is_kept_where_there_is_no_lake() {
    let delivery = Delivery::start(&[BOTH[0], ("LAKE_BUCKET_NAME", "")]).await;
    for data in not_for_the_bus() {
        let batch = [signal(0, &json!({})), signal(1, &data)];
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let events = delivery.on_the_bus();
        assert_eq!(
            events[1],
            reference(1, &format!("s3://{BUCKET}/{}", key(1)))
        );
        assert_eq!(delivery.kept()[&key(1)]["record"], batch[1]);
    }
}

#[tokio::test]
async fn event_that_the_lake_cannot_have_is_in_the_failure_bucket() {
    // No client can send such an event: an item of DynamoDB is smaller.
    let batch = [
        signal(0, &json!({"x": {"S": "\u{1}".repeat(200_000)}})),
        signal(1, &json!({})),
    ];
    let delivery = Delivery::start(BOTH).await;
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(
        delivery.on_the_bus()[0],
        reference(0, &format!("s3://{BUCKET}/{}", key(0)))
    );
    assert_eq!(ids_of_lines(&delivery.lines_of_the_lake()), ids_of([1]));

    let mut delivery = Delivery::start(&BOTH[1..]).await;
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(ids_of_lines(&delivery.lines_of_the_lake()), ids_of([1]));
    assert_eq!(delivery.kept()[&key(0)]["record"], batch[0]);
    let line = delivery.line().await;
    assert_eq!(line["RecordsDelivered"], 1, "{line}");
    assert_eq!(line["RecordsUnreadable"], 1, "{line}");
}

#[tokio::test]
async fn event_that_eventbridge_finds_malformed_is_kept_and_becomes_a_reference() {
    for code in ["MalformedDetail", "InvalidArgument"] {
        let delivery = Delivery::start(BOTH).await;
        delivery.targets.refuse(Target::Bus, "\"odd\"", code);
        let mut batch = signals(0..15);
        batch[11] = signal(11, &json!({"odd": {"BOOL": true}}));
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let events = delivery.on_the_bus();
        let references: Vec<_> = events
            .iter()
            .filter(|event| event.get("dataref").is_some())
            .collect();
        assert_eq!(
            references,
            [&reference(11, &format!("s3://{BUCKET}/{}", key(11)))]
        );
        // The function sends the rest of the call that failed twice.
        assert_eq!(
            ids(&events),
            ids_of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 12, 13, 14, 11])
        );
        let reason = format!("EventBridge does not take the event: {code}");
        assert_eq!(delivery.kept()[&key(11)]["reason"], reason);
        // EventBridge does not take the reference either: the shard goes on.
        delivery.targets.refuse(Target::Bus, "dataref", code);
        assert_eq!(delivery.first_undelivered(&batch).await, None);
    }
}

#[tokio::test]
async fn event_that_costs_the_whole_call_is_kept_and_the_others_are_sent() {
    let mut delivery = Delivery::start(BOTH).await;
    let refusal =
        json!({"__type": "ValidationException", "message": "a message with a secret value"});
    delivery
        .targets
        .answer(Target::Bus, "odd", 400, refusal.clone());
    let mut batch = signals(0..25);
    batch[11] = signal(11, &json!({"odd": {"BOOL": true}}));
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    let events = delivery.on_the_bus();
    assert_eq!(ids(&events), ids_of((0..11).chain(12..25).chain([11])));
    assert_eq!(
        events[24],
        reference(11, &format!("s3://{BUCKET}/{}", key(11)))
    );
    assert_eq!(delivery.kept().len(), 1);
    assert_eq!(
        delivery.kept()[&key(11)]["reason"],
        "EventBridge does not take the event: ValidationException"
    );
    assert_eq!(delivery.line().await["EventReferences"], 1);
    // EventBridge does not take the reference either: the shard goes on, and an alarm counts the
    // record.
    delivery.targets.answer(Target::Bus, "#0011", 400, refusal);
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(ids(&delivery.on_the_bus()), ids_of((0..11).chain(12..25)));
    let line = delivery.line().await;
    for (name, count) in [
        ("RecordsDelivered", 24),
        ("RecordsUnreadable", 1),
        ("EventReferences", 0),
    ] {
        assert_eq!(line[name], count, "{name} in {line}");
    }
}

#[tokio::test]
async fn event_that_costs_the_whole_call_of_the_lake_is_kept_and_the_others_are_stored() {
    let refusal =
        json!({"__type": "InvalidArgumentException", "message": "a message with a secret value"});
    let mut batch = signals(0..1_000);
    batch[617] = signal(617, &json!({"odd": {"BOOL": true}}));
    let mut delivery = Delivery::start(&BOTH[1..]).await;
    delivery
        .targets
        .answer(Target::Lake, "odd", 400, refusal.clone());
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(
        ids_of_lines(&delivery.lines_of_the_lake()),
        ids_of((0..617).chain(618..1_000))
    );
    assert_eq!(
        delivery.kept()[&key(617)]["reason"],
        "Firehose does not take the event: InvalidArgumentException"
    );
    let line = delivery.line().await;
    assert_eq!(line["RecordsDelivered"], 999, "{line}");
    assert_eq!(line["RecordsUnreadable"], 1, "{line}");
    let calls = delivery
        .targets
        .take_calls()
        .iter()
        .filter(|call| call.target == Target::Lake)
        .count();
    assert!(calls <= 40, "{calls} calls");

    let delivery = Delivery::start(BOTH).await;
    delivery.targets.answer(Target::Lake, "odd", 400, refusal);
    assert_eq!(delivery.first_undelivered(&batch[615..620]).await, None);
    assert_eq!(
        delivery.on_the_bus()[2],
        reference(617, &format!("s3://{BUCKET}/{}", key(617)))
    );
}
