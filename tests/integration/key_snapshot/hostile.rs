//! Snapshots and items that no `cargo intake` wrote: each counts as a missing one.

use model::api_key::KeyHash;
use store::key_snapshot::MAX_OBJECT_BYTES;
use testkit::fake_s3::KEY_SNAPSHOT_PATH;
use testkit::fault_proxy::Plan;
use testkit::key_entry;

use crate::support::clock::{NOW, earlier, later};
use crate::support::gzip::gzip;
use crate::support::items::set_key_attribute;
use crate::support::snapshot_stack::{KEY, OUTAGE, SnapshotStack, revoked};

#[tokio::test]
async fn hostile_snapshot_is_ignored_and_the_next_one_is_read() {
    let mut bomb = br#"{"version":1,"more":""#.to_vec();
    bomb.extend(vec![b' '; 20 * 1024 * 1024]);
    let mut deep = br#"{"version":1,"more":"#.to_vec();
    deep.extend(vec![b'['; 1024 * 1024]);
    let another_version = br#"{"version":2,"writtenAt":"2026-11-20T22:16:40.009Z","keys":[]}"#;
    for (name, object) in [
        ("too large", vec![0; MAX_OBJECT_BYTES + 1]),
        ("a bomb", gzip(&bomb)),
        ("no gzip", b"{}".to_vec()),
        ("no JSON", gzip(b"{")),
        ("another version", gzip(another_version)),
        ("deep", gzip(&deep)),
    ] {
        let stack = SnapshotStack::start(OUTAGE.always()).await;
        stack.s3.put(KEY_SNAPSHOT_PATH, object, earlier(60));
        stack.assert_unavailable(KEY, NOW).await;
        stack.publish(KEY, &key_entry("shop"), earlier(60));
        // On a busy machine, the read of the hostile one has not ended yet, and the look-ups that
        // wait for the same read get a 503, too.
        let mut status = 0;
        for minutes in 1..30 {
            status = stack.status(KEY, later(60 * minutes)).await;
            if status == 200 {
                break;
            }
        }
        assert_eq!(status, 200, "{name}: the next one is read");
    }
}

#[tokio::test]
async fn entry_that_cannot_be_read_costs_no_other_key() {
    let stack = SnapshotStack::start(OUTAGE.always()).await;
    let key = |key: &str, more: &str| {
        let hash = KeyHash::from_key(key).partition_key();
        format!(
            r#"{{"keyHash":"{hash}","keyId":"k","accountId":"shop","createdAt":"2026-11-20T22:16:40.009Z"{more}}}"#
        )
    };
    let entries = [
        key("later", r#","only":"pings""#),
        key("null", r#","expiresAt":null"#),
        key(KEY, ""),
        "17".to_owned(),
    ];
    let json = format!(
        r#"{{"version":1,"writtenAt":"2026-11-20T22:16:40.009Z","keys":[{}]}}"#,
        entries.join(",")
    );
    stack
        .s3
        .put(KEY_SNAPSHOT_PATH, gzip(json.as_bytes()), earlier(60));
    assert_eq!(stack.status(KEY, NOW).await, 200);
    for unreadable in ["later", "null"] {
        stack.assert_unavailable(unreadable, NOW).await;
    }
}

#[tokio::test]
async fn corrupt_item_leaves_its_key_to_the_snapshot_and_the_others_to_the_table() {
    let stack = SnapshotStack::start(Plan::none()).await;
    let corrupt = stack.app.key("shop").await;
    set_key_attribute(&stack.app, &corrupt, "only", "everything").await;
    let other = stack.app.key("shop").await;
    let of_snapshot = [
        (KeyHash::from_key(&corrupt), key_entry("shop")),
        (KeyHash::from_key(&other), revoked(key_entry("shop"))),
    ];
    stack.s3.publish(&of_snapshot, earlier(3600));
    assert_eq!(stack.status(&corrupt, NOW).await, 200);
    assert_eq!(stack.status(&other, later(1)).await, 200);
}
