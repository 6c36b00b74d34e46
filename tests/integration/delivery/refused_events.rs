//! Events that the bus or the lake cannot have or does not take: the bus gets a claim check for the
//! event, and the shard goes on.

use harness::fake_targets::Target;
use serde_json::{Value, json};

use crate::support::delivery::{
    BUCKET, BUS, BUS_WITHOUT_LAKE, Delivery, LAKE, id, ids, ids_of, ids_of_lines, kept_key, signal,
    signals,
};

/// The claim check for the event of the signal with this number.
fn claim_check(number: usize, dataref: &str) -> Value {
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
async fn event_that_the_bus_cannot_have_is_whole_in_the_lake() {
    let [bus, lake] = [Delivery::start(BUS).await, Delivery::start(LAKE).await];
    for data in not_for_the_bus() {
        let batch = [
            signal(0, &json!({})),
            signal(1, &data),
            signal(2, &json!({})),
        ];
        assert_eq!(bus.first_undelivered(&batch).await, None);
        let events = bus.on_the_bus();
        assert_eq!(ids(&events), ids_of(0..3));
        assert_eq!(events[1], claim_check(1, "urn:intake:lake"));
        assert_eq!(lake.first_undelivered(&batch).await, None);
        let lines = lake.lines_of_the_lake();
        assert_eq!(ids_of_lines(&lines), ids_of(0..3));
        assert!(
            lines[1].contains("\"data\":{\"customerId\""),
            "{}",
            lines[1]
        );
        assert!(!lines[1].contains("dataref"), "{}", lines[1]);
    }
    assert_eq!(bus.kept().len() + lake.kept().len(), 0);
}

#[tokio::test]
async fn event_that_the_bus_cannot_have_is_kept_where_there_is_no_lake() {
    let delivery = Delivery::start(BUS_WITHOUT_LAKE).await;
    for data in not_for_the_bus() {
        let batch = [signal(0, &json!({})), signal(1, &data)];
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let events = delivery.on_the_bus();
        assert_eq!(
            events[1],
            claim_check(1, &format!("s3://{BUCKET}/{}", kept_key(1)))
        );
        assert_eq!(delivery.kept()[&kept_key(1)]["record"], batch[1]);
    }
}

#[tokio::test]
async fn event_that_the_lake_cannot_have_is_in_the_failure_bucket() {
    // No client can send such an event: an item of DynamoDB is smaller.
    let batch = [
        signal(0, &json!({"x": {"S": "\u{1}".repeat(200_000)}})),
        signal(1, &json!({})),
    ];
    let delivery = Delivery::start(BUS).await;
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(
        delivery.on_the_bus()[0],
        claim_check(0, &format!("s3://{BUCKET}/{}", kept_key(0)))
    );
    assert_eq!(delivery.kept()[&kept_key(0)]["record"], batch[0]);

    let mut delivery = Delivery::start(LAKE).await;
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(ids_of_lines(&delivery.lines_of_the_lake()), ids_of([1]));
    assert_eq!(delivery.kept()[&kept_key(0)]["record"], batch[0]);
    let line = delivery.line().await;
    assert_eq!(line["RecordsDelivered"], 1, "{line}");
    assert_eq!(line["RecordsUnreadable"], 1, "{line}");
}

#[tokio::test]
async fn event_that_eventbridge_finds_malformed_is_kept_and_becomes_a_claim_check() {
    let delivery = Delivery::start(BUS).await;
    for code in ["MalformedDetail", "InvalidArgument"] {
        delivery.targets.refuse(Target::Bus, "\"odd\"", code);
        let mut batch = signals(0..15);
        batch[11] = signal(11, &json!({"odd": {"BOOL": true}}));
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        let events = delivery.on_the_bus();
        let claim_checks: Vec<_> = events
            .iter()
            .filter(|event| event.get("dataref").is_some())
            .collect();
        assert_eq!(
            claim_checks,
            [&claim_check(11, &format!("s3://{BUCKET}/{}", kept_key(11)))]
        );
        // The function sends the rest of the call that failed twice.
        assert_eq!(
            ids(&events),
            ids_of([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 12, 13, 14, 11])
        );
        let reason = format!("EventBridge refused the event: {code}");
        assert_eq!(delivery.kept()[&kept_key(11)]["reason"], reason);
        // EventBridge does not take the claim check either: the shard goes on.
        delivery.targets.refuse(Target::Bus, "dataref", code);
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        delivery.targets.refuse_nothing();
        delivery.on_the_bus();
    }
}

#[tokio::test]
async fn event_that_costs_the_whole_call_is_kept_and_the_others_are_sent() {
    let mut delivery = Delivery::start(BUS).await;
    let refusal =
        json!({"__type": "ValidationException", "message": "a message with a secret value"});
    delivery
        .targets
        .respond(Target::Bus, "odd", 400, refusal.clone());
    let mut batch = signals(0..25);
    batch[11] = signal(11, &json!({"odd": {"BOOL": true}}));
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    let events = delivery.on_the_bus();
    assert_eq!(ids(&events), ids_of((0..11).chain(12..25).chain([11])));
    assert_eq!(
        events[24],
        claim_check(11, &format!("s3://{BUCKET}/{}", kept_key(11)))
    );
    assert_eq!(delivery.kept().len(), 1);
    assert_eq!(
        delivery.kept()[&kept_key(11)]["reason"],
        "EventBridge refused the event: ValidationException"
    );
    assert_eq!(delivery.line().await["EventClaimChecks"], 1);
    // EventBridge does not take the claim check either: the shard goes on, and an alarm counts the
    // record.
    delivery.targets.respond(Target::Bus, "#0011", 400, refusal);
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(ids(&delivery.on_the_bus()), ids_of((0..11).chain(12..25)));
    let line = delivery.line().await;
    for (name, count) in [
        ("RecordsDelivered", 24),
        ("RecordsUnreadable", 1),
        ("EventClaimChecks", 0),
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
    let mut delivery = Delivery::start(LAKE).await;
    delivery.targets.respond(Target::Lake, "odd", 400, refusal);
    assert_eq!(delivery.first_undelivered(&batch).await, None);
    assert_eq!(
        ids_of_lines(&delivery.lines_of_the_lake()),
        ids_of((0..617).chain(618..1_000))
    );
    assert_eq!(
        delivery.kept()[&kept_key(617)]["reason"],
        "Firehose refused the event: InvalidArgumentException"
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
}
