//! Records that the function cannot read: it keeps them in the failure bucket, and the shard goes on.

use std::time::Duration;

use harness::fake_s3::FakeS3;
use harness::fault_proxy::{Fault, Plan};
use serde_json::json;

use crate::support::delivery::{
    BUCKET, BUS, Delivery, HANDLERS, LAKE, TestedHandler, ids_of, kept_key, signals,
};

#[tokio::test]
async fn record_of_an_unknown_shape_is_kept_and_the_shard_goes_on() {
    for handler in HANDLERS {
        assert_unknown_shape_is_kept(handler).await;
    }
}

async fn assert_unknown_shape_is_kept(handler: TestedHandler) {
    let delivery = Delivery::start(handler.variables).await;
    let mut batch = signals(0..4);
    batch[1]["dynamodb"]["Keys"] = json!({"keyHash": {"S": "00"}});
    batch[2] = json!({"what": ["is", 1.50]});
    for _ in 0..2 {
        assert_eq!(delivery.first_undelivered(&batch).await, None);
        assert_eq!(delivery.delivered(), ids_of([0, 3]));
    }
    let kept = delivery.kept();
    assert_eq!(
        kept.len(),
        2,
        "the repeated batch wrote the same keys: {kept:?}"
    );
    assert_eq!(kept[&kept_key(1)]["record"], batch[1]);
    let reason = kept[&kept_key(1)]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with(
            "the record is not one of a stream of this service: unknown field `keyHash`"
        ),
        "{reason}"
    );
    let (other, object) = kept
        .iter()
        .find(|(other, _)| **other != kept_key(1))
        .unwrap();
    let today = model::timestamp::Timestamp::now().to_string()[..10].replace('-', "/");
    assert!(
        other.starts_with(&format!("unreadable/{today}/")) && other.len() == 21 + 64 + 5 + 1,
        "{other}"
    );
    assert_eq!(object["record"], batch[2]);
    assert_object_is_put(&delivery.s3, &kept_key(1));
}

/// Fails unless a signed PUT wrote the object with this key into the failure bucket.
fn assert_object_is_put(s3: &FakeS3, key: &str) {
    let put = s3.object(&format!("/{BUCKET}/{key}")).unwrap();
    assert_eq!(put.headers["content-type"], "application/json");
    let signature = put.headers["authorization"].to_str().unwrap();
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
    let delivery = Delivery::start(BUS).await;
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
    for handler in HANDLERS {
        assert_unkept_is_delivered_again(handler).await;
    }
}

async fn assert_unkept_is_delivered_again(handler: TestedHandler) {
    let mut delivery = Delivery::start(handler.variables).await;
    let mut batch = signals(0..4);
    batch[2]["eventName"] = json!("UPDATE");
    delivery
        .s3
        .faults()
        .set(Fault::InternalServerError.always());
    let undelivered = delivery.first_undelivered(&batch).await;
    assert_eq!(undelivered.as_deref(), Some("s2"));
    assert_eq!(delivery.delivered(), ids_of([0, 1]));
    let line = delivery.line().await;
    assert_eq!(line["failedTarget"], "failure bucket", "{line}");
    assert_eq!(line["cause"], "ServerError", "{line}");
    delivery.s3.faults().set(Plan::none());
    assert_eq!(delivery.first_undelivered(&batch[2..]).await, None);
    assert_eq!(delivery.kept().keys().collect::<Vec<_>>(), [&kept_key(2)]);
}

#[tokio::test]
async fn failure_bucket_that_hangs_leaves_the_targets_time_for_the_records_before() {
    let mut delivery = Delivery::start_with_timeout(BUS, Duration::from_secs(4)).await;
    let longer_than_the_invocation = Fault::Slow(Duration::from_mins(1));
    delivery
        .s3
        .faults()
        .set(longer_than_the_invocation.always());
    let mut batch = signals(0..4);
    batch[2]["eventName"] = json!("UPDATE");
    let undelivered = delivery.first_undelivered(&batch).await;
    assert_eq!(undelivered.as_deref(), Some("s2"));
    assert_eq!(delivery.delivered(), ids_of([0, 1]));
    let line = delivery.line().await;
    assert_eq!(line["failedTarget"], "failure bucket", "{line}");
    assert_eq!(line["cause"], "Timeout", "{line}");
}

#[tokio::test]
async fn batch_full_of_unreadable_records_progresses_while_s3_is_slow() {
    let delivery = Delivery::start_with_timeout(LAKE, Duration::from_secs(4)).await;
    // One by one, they would take 10 seconds, and the event before them would never have a target.
    let slow = Fault::Slow(Duration::from_millis(20));
    delivery.s3.faults().set(slow.always());
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
    assert_eq!(delivery.delivered(), ids_of([0, 501]));
    assert_eq!(
        delivery.kept().into_keys().collect::<Vec<_>>(),
        (1..501).map(kept_key).collect::<Vec<_>>()
    );
}
