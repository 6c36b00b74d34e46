//! Snapshots and items that no `cargo intake` wrote: each counts as a missing one.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use model::api_key::KeyHash;
use serde_json::json;
use simulator::aws::dynamodb::API_KEYS;
use store::key_snapshot::MAX_OBJECT_BYTES;

use crate::support::clock::{NOW, earlier, later};
use crate::support::key_sources::{KEY, OUTAGE, everywhere, revoked};
use crate::support::stack::{Stack, key_entry};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(start_paused = true)]
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
        let stack = Stack::start(everywhere(OUTAGE));
        stack.put_object(object, earlier(60));
        stack.assert_unavailable(KEY, NOW).await;
        stack.publish(&[(KEY, key_entry())], earlier(60));
        stack.assert_unavailable(KEY, later(4)).await;
        assert_eq!(stack.status(KEY, later(6)).await, 200, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn entry_that_cannot_be_read_costs_no_other_key() {
    let stack = Stack::start(everywhere(OUTAGE));
    let entry = |key: &str| {
        let hash = KeyHash::from_key(key).partition_key();
        let created_at = "2026-11-20T22:16:40.009Z";
        json!({"keyHash": hash, "keyId": "k", "accountId": "shop", "createdAt": created_at})
    };
    let [mut later, mut null, valid] = ["later", "null", KEY].map(entry);
    later["only"] = json!("pings");
    null["expiresAt"] = json!(null);
    let keys = json!([later, null, valid, 17]);
    let snapshot = json!({"version": 1, "writtenAt": "2026-11-20T22:16:40.009Z", "keys": keys});
    stack.put_object(gzip(snapshot.to_string().as_bytes()), earlier(60));
    assert_eq!(stack.status(KEY, NOW).await, 200);
    for unreadable in ["later", "null"] {
        stack.assert_unavailable(unreadable, NOW).await;
    }
}

#[tokio::test(start_paused = true)]
async fn corrupt_item_leaves_its_key_to_the_snapshot_and_the_others_to_the_table() {
    let stack = Stack::start([]);
    let corrupt = stack.key_with(2, |_| {});
    let other = stack.key_with(3, |_| {});
    let hash = KeyHash::from_key(&corrupt).partition_key();
    let put = json!({"TableName": API_KEYS, "Item": {
        "keyHash": {"S": hash},
        "keyId": {"S": "k"},
        "accountId": {"S": "shop"},
        "createdAt": {"S": NOW.to_string()},
        "only": {"S": "everything"},
    }});
    let response = stack.aws.state().tables.call("PutItem", &put, &mut |_| {});
    assert_eq!(response.status, 200);
    let of_snapshot = [(&*corrupt, key_entry()), (&*other, revoked(key_entry()))];
    stack.publish(&of_snapshot, earlier(3600));
    assert_eq!(stack.status(&corrupt, NOW).await, 200);
    assert_eq!(stack.status(&other, later(1)).await, 200);
}
