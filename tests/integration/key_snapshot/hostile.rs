//! Snapshots and items that no `cargo intake` wrote: each is as none.

use flate2::Compression;
use flate2::write::GzEncoder;
use model::api_key::KeyHash;
use std::io::Write as _;
use store::key_snapshot::MAX_OBJECT_BYTES;
use testkit::fake_s3::KEY_SNAPSHOT_PATH;
use testkit::fault_proxy::Plan;

use super::{KEY, NOW, OUTAGE, Stack, earlier, key_record, later, revoked};
use crate::auth::set_attribute;

fn gzip(json: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn hostile_snapshot_is_as_none() {
    let bomb = [
        br#"{"version":1,"more":""#.as_slice(),
        &vec![b' '; 20 * 1024 * 1024],
    ]
    .concat();
    for (name, object) in [
        ("too large", vec![0; MAX_OBJECT_BYTES + 1]),
        ("a bomb", gzip(&bomb)),
        ("no gzip", b"{}".to_vec()),
        ("no JSON", gzip(b"{")),
        (
            "another version",
            gzip(br#"{"version":2,"writtenAt":"2026-11-20T22:16:40.009Z","keys":[]}"#),
        ),
        (
            "deep",
            gzip(
                &[
                    br#"{"version":1,"more":"#.as_slice(),
                    &vec![b'['; 1024 * 1024],
                ]
                .concat(),
            ),
        ),
    ] {
        let stack = Stack::start(OUTAGE.always()).await;
        stack.s3.put(KEY_SNAPSHOT_PATH, object, earlier(60));
        stack
            .ping(KEY, NOW)
            .await
            .assert_problem(503, "storage-unavailable");
        stack.publish(KEY, &key_record("shop"), earlier(60));
        assert_eq!(
            stack.status(KEY, later(30)).await,
            200,
            "{name}: the next one is read"
        );
    }
}

#[tokio::test]
async fn entry_that_cannot_be_read_costs_no_other_key() {
    let stack = Stack::start(OUTAGE.always()).await;
    let key = |key: &str, more: &str| {
        let hash = KeyHash::of(key).partition_key();
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
        stack
            .ping(unreadable, NOW)
            .await
            .assert_problem(503, "storage-unavailable");
    }
}

#[tokio::test]
async fn corrupt_item_leaves_its_key_to_the_snapshot_and_the_others_to_the_table() {
    let stack = Stack::start(Plan::none()).await;
    let corrupt = stack.app.key("shop").await;
    set_attribute(&stack.app, &corrupt, "only", "everything").await;
    let other = stack.app.key("shop").await;
    let of_snapshot = [
        (KeyHash::of(&corrupt), key_record("shop")),
        (KeyHash::of(&other), revoked(key_record("shop"))),
    ];
    stack.s3.publish(&of_snapshot, earlier(3600));
    assert_eq!(
        [
            stack.status(&corrupt, NOW).await,
            stack.status(&other, later(1)).await
        ],
        [200; 2]
    );
}
