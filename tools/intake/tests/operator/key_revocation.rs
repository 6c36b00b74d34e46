//! `keys revoke`: the key table and the key snapshot both get the revocation.

use std::time::{Duration, Instant};

use testkit::TestApp;
use testkit::fake_s3::{FakeS3, S3Fault};
use testkit::fault_proxy::{Fault, FaultProxy, Plan};

use crate::key_snapshot::{PUBLISH, create, document, finding, key, keys, operator};

#[tokio::test(flavor = "multi_thread")]
async fn key_is_revoked_in_the_snapshot_while_the_table_is_away_and_never_comes_back() {
    let (app, s3) = (TestApp::start(), FakeS3::start().await.unwrap());
    let with_table = operator(&app, &s3);
    let created =
        [create("one"), create("two")].map(|create| with_table.run(&create).success().json());
    let ids = created
        .each_ref()
        .map(|created| created[0]["keyId"].as_str().unwrap());
    let away = || operator(&app, &s3).variable("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1");
    let revoke = |id| ["keys", "revoke", id, "--yes"];
    let is_revoked = |id: &str| key(&keys(&s3), &id.into())["revokedAt"].is_string();
    let written_at = || document(&s3)["writtenAt"].clone();

    let before = written_at();
    for _ in 0..2 {
        let error = away().run(&revoke(ids[0])).error_message();
        assert!(
            error.contains("cannot reach DynamoDB") && error.contains("in the key snapshot only"),
            "{error}"
        );
    }
    assert_eq!(ids.map(is_revoked), [true, false]);
    assert_eq!(
        written_at(),
        before,
        "the other entries are no newer than they were"
    );
    assert_eq!(
        app.items("ApiKeysTable")
            .await
            .iter()
            .filter(|item| item.contains_key("revokedAt"))
            .count(),
        0
    );

    away().run(&PUBLISH).error_message();
    assert!(is_revoked(ids[0]));
    let published = with_table.run(&PUBLISH).success();
    assert!(
        published
            .stderr
            .contains(&format!("Revoked {} in the key table", ids[0])),
        "{}",
        published.stderr
    );
    let items = app.items("ApiKeysTable").await;
    let revoked: Vec<_> = items
        .iter()
        .filter(|item| item.contains_key("revokedAt"))
        .collect();
    assert_eq!(
        (revoked.len(), revoked[0]["keyId"].as_s().unwrap().as_str()),
        (1, ids[0])
    );
    assert_eq!(ids.map(is_revoked), [true, false]);

    away().run(&revoke(ids[1])).error_message();
    with_table.run(&revoke(ids[1])).success();
    assert_eq!(ids.map(is_revoked), [true, true]);
    assert_eq!(finding(&with_table.run(&["doctor", "--json"])).0, "held");

    let unknown = away().run(&revoke("key_of_no_one")).error_message();
    assert!(
        unknown.ends_with("the key snapshot has no key key_of_no_one"),
        "{unknown}"
    );
    s3.set_fault(Some(S3Fault::Failing));
    let error = away().run(&revoke(ids[1])).error_message();
    assert!(
        error.contains("is not revoked in the key snapshot either: bucket keys: "),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_fails_until_table_and_snapshot_both_have_it() {
    let (app, s3) = (TestApp::start(), FakeS3::start().await.unwrap());
    let operator = operator(&app, &s3);
    let created = operator.run(&create("web")).success().json();
    let id = created[0]["keyId"].as_str().unwrap();
    let revoke = ["keys", "revoke", id, "--yes"];
    let is_in_snapshot = || key(&keys(&s3), &id.into())["revokedAt"].is_string();

    s3.set_fault(Some(S3Fault::Failing));
    for again in [false, true] {
        let failed = operator.run(&revoke);
        assert_eq!(failed.stderr.contains("already revoked"), again);
        let error = failed.error_message();
        assert!(
            error.starts_with("The key table is written, and the key snapshot is not"),
            "{error}"
        );
    }
    s3.set_fault(None);
    assert!(!is_in_snapshot());
    let again = operator.run(&revoke).success();
    assert!(again.stderr.contains("already revoked"), "{}", again.stderr);
    assert!(is_in_snapshot());
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_revoked_in_the_snapshot_while_the_table_hangs() {
    let (app, s3) = (TestApp::start(), FakeS3::start().await.unwrap());
    let created = operator(&app, &s3).run(&create("web")).success().json();
    let id = created[0]["keyId"].as_str().unwrap();
    let proxy = FaultProxy::start(&app.emulator.endpoint(), Plan::none())
        .await
        .unwrap();
    let operator = operator(&app, &s3).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    // The second time, the table answers the look-up and not the write.
    for hanging in [
        Fault::Stall.always(),
        Fault::Stall.always().of("UpdateItem"),
    ] {
        proxy.set(Plan::of([hanging]));
        let began = Instant::now();
        let error = operator
            .run(&["keys", "revoke", id, "--yes"])
            .error_message();
        assert!(
            error.contains("did not answer in time") && error.contains("in the key snapshot only"),
            "{error}"
        );
        // 80 s is what other commands wait.
        assert!(began.elapsed() < Duration::from_secs(40));
        assert!(key(&keys(&s3), &id.into())["revokedAt"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_only_the_snapshot_has_revoked_is_listed_as_that() {
    let (app, s3) = (TestApp::start(), FakeS3::start().await.unwrap());
    let with_table = operator(&app, &s3);
    let created = with_table.run(&create("web")).success().json();
    let id = created[0]["keyId"].as_str().unwrap();
    with_table.run(&create("other")).success();
    let revoke = ["keys", "revoke", id, "--yes"];
    operator(&app, &s3)
        .variable("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
        .run(&revoke)
        .error_message();
    let states = || {
        let listed = with_table
            .run(&["keys", "list", "--active", "--json"])
            .success();
        let mut states: Vec<_> = listed
            .json()
            .iter()
            .map(|key| (key["state"].clone(), key["revokedAt"].is_string()))
            .collect();
        states.sort_by_key(|(state, _)| state.to_string());
        states
    };
    assert_eq!(
        states(),
        [
            ("active".into(), false),
            ("revoked in snapshot".into(), true)
        ]
    );
    let listed = with_table.run(&["keys", "list"]).success();
    let is_row = |line: &str| line.contains(id) && line.contains("revoked in snapshot");
    assert!(listed.stdout.lines().any(is_row), "{}", listed.stdout);
    assert!(
        listed.stderr.contains(&format!(
            "Run `cargo intake keys revoke {id}` until it exits 0."
        )),
        "{}",
        listed.stderr
    );

    s3.set_fault(Some(S3Fault::Failing));
    let unread = with_table.run(&["keys", "list"]).success();
    assert!(
        unread.stderr.starts_with("The key snapshot cannot be read") && unread.stdout.contains(id),
        "{unread:?}"
    );
    s3.set_fault(None);
    with_table.run(&revoke).success();
    assert_eq!(states(), [("active".into(), false)]);
}
