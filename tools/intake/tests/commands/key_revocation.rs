//! `keys revoke`: the key table and the key snapshot both get the revocation.

use std::time::{Duration, Instant};

use harness::TestApp;
use harness::fake_s3::FakeS3;
use harness::fault_proxy::{Fault, FaultProxy, Plan};
use serde_json::Value;

use crate::support::key_snapshot::{PUBLISH, document, finding, key, keys, operator};
use crate::support::operator::Operator;

/// The same operator, for whom no process listens where DynamoDB would be.
fn operator_without_table(app: &TestApp, s3: &FakeS3) -> Operator {
    operator(app, s3).variable("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
}

/// Whether the key is revoked in the snapshot.
fn is_revoked_in_snapshot(s3: &FakeS3, id: &str) -> bool {
    key(&keys(s3), id)["revokedAt"].is_string()
}

/// The ids of the keys that are revoked in the table.
async fn revoked_in_table(app: &TestApp) -> Vec<String> {
    app.items("ApiKeysTable")
        .await
        .iter()
        .filter(|item| item.contains_key("revokedAt"))
        .map(|item| item["keyId"].as_s().unwrap().clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_a_key_without_the_variable_of_the_snapshot_is_an_error_that_writes_nothing() {
    let app = TestApp::start();
    let id = Operator::new(&app).create_key("web").id;
    let queues_alone = || Operator::with_tables(&app).with_queues(&app.sqs);
    let operator = queues_alone();
    let empty = queues_alone().variable("KEY_SNAPSHOT_BUCKET", "");
    let revoke = format!("keys revoke {id} --yes");
    let rotate = format!("keys rotate {id}");
    for operator in [&operator, &empty] {
        for command in [
            revoke.as_str(),
            rotate.as_str(),
            "keys create --account shop --name new",
            "keys publish",
            "accounts erase shop --yes",
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(
                operator.run(&words).error_message(),
                "The environment does not define KEY_SNAPSHOT_BUCKET. Give --stack NAME or --local, or set the variable."
            );
        }
    }
    assert_eq!(revoked_in_table(&app).await, Vec::<String>::new());
    assert_eq!(operator.list_keys().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_revoked_in_the_snapshot_while_the_table_is_away_and_never_comes_back() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let with_table = operator(&app, &s3);
    let first = with_table.create_key("one").id;
    let second = with_table.create_key("two").id;
    let without_table = operator_without_table(&app, &s3);
    let revoke = |id| ["keys", "revoke", id, "--yes"];
    let written_at = || document(&s3)["writtenAt"].clone();

    let before = written_at();
    for _ in 0..2 {
        let error = without_table.run(&revoke(&first)).error_message();
        assert!(error.contains("cannot reach DynamoDB"), "{error}");
        assert!(error.contains("in the key snapshot only"), "{error}");
    }
    assert!(is_revoked_in_snapshot(&s3, &first));
    assert!(!is_revoked_in_snapshot(&s3, &second));
    assert_eq!(
        written_at(),
        before,
        "the other entries are no newer than they were"
    );
    assert_eq!(revoked_in_table(&app).await, Vec::<String>::new());

    without_table.run(&PUBLISH).error_message();
    assert!(is_revoked_in_snapshot(&s3, &first));
    let published = with_table.run(&PUBLISH).success();
    assert!(
        published
            .stderr
            .contains(&format!("Revoked {first} in the key table")),
        "{}",
        published.stderr
    );
    assert_eq!(revoked_in_table(&app).await, [first.as_str()]);
    assert!(is_revoked_in_snapshot(&s3, &first));
    assert!(!is_revoked_in_snapshot(&s3, &second));

    without_table.run(&revoke(&second)).error_message();
    with_table.run(&revoke(&second)).success();
    assert!(is_revoked_in_snapshot(&s3, &first));
    assert!(is_revoked_in_snapshot(&s3, &second));
    let finding = finding(&with_table.run(&["doctor", "--json"]));
    assert_eq!(finding.result, "held", "{finding:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_that_neither_table_nor_snapshot_takes_is_an_error() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let id = operator(&app, &s3).create_key("web").id;
    let without_table = operator_without_table(&app, &s3);
    let revoke = |id| ["keys", "revoke", id, "--yes"];
    let unknown = without_table.run(&revoke("key_of_no_one")).error_message();
    assert!(
        unknown.ends_with("the key snapshot has no key key_of_no_one"),
        "{unknown}"
    );
    s3.faults().set(Fault::InternalServerError.always());
    let error = without_table.run(&revoke(&id)).error_message();
    assert!(
        error.contains("is not revoked in the key snapshot either: bucket keys: "),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_fails_until_table_and_snapshot_both_have_it() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    let id = operator.create_key("web").id;
    let revoke = ["keys", "revoke", &id, "--yes"];

    s3.faults().set(Fault::InternalServerError.always());
    for again in [false, true] {
        let failed = operator.run(&revoke);
        assert_eq!(failed.stderr.contains("already revoked"), again);
        let error = failed.error_message();
        assert!(
            error.starts_with("The key table is written, and the key snapshot is not"),
            "{error}"
        );
    }
    s3.faults().set(Plan::none());
    assert!(!is_revoked_in_snapshot(&s3, &id));
    let again = operator.run(&revoke).success();
    assert!(again.stderr.contains("already revoked"), "{}", again.stderr);
    assert!(is_revoked_in_snapshot(&s3, &id));
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_revoked_in_the_snapshot_while_the_table_hangs() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let id = operator(&app, &s3).create_key("web").id;
    let proxy = FaultProxy::start(&app.emulator.endpoint(), Plan::none())
        .await
        .unwrap();
    let operator = operator(&app, &s3).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    // The table responds to the look-up and not to the write.
    let hanging = Fault::Hanging.always().for_operation("UpdateItem");
    proxy.set(Plan::new([hanging]));
    let began = Instant::now();
    let error = operator
        .run(&["keys", "revoke", &id, "--yes"])
        .error_message();
    assert!(error.contains("did not respond in time"), "{error}");
    let place = "in the key snapshot, and maybe in the key table";
    assert!(error.contains(place), "{error}");
    // Other commands wait for minutes.
    assert!(began.elapsed() < Duration::from_secs(40));
    assert!(is_revoked_in_snapshot(&s3, &id));
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_only_the_snapshot_has_revoked_is_listed_as_that() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let with_table = operator(&app, &s3);
    let id = with_table.create_key("web").id;
    let other_id = with_table.create_key("other").id;
    let revoke = ["keys", "revoke", &id, "--yes"];
    operator_without_table(&app, &s3)
        .run(&revoke)
        .error_message();
    let list_active = || {
        with_table
            .run(&["keys", "list", "--active", "--json"])
            .success()
            .json()
    };
    let assert_active = |key: &Value| {
        assert_eq!(key["state"], "active", "{key}");
        assert!(!key["revokedAt"].is_string(), "{key}");
    };
    let listed = list_active();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_active(key(&listed, &other_id));
    let revoked = key(&listed, &id);
    assert_eq!(revoked["state"], "revoked in snapshot", "{revoked}");
    assert!(revoked["revokedAt"].is_string(), "{revoked}");

    let listed = with_table.run(&["keys", "list"]).success();
    let is_row = |line: &str| line.contains(&id) && line.contains("revoked in snapshot");
    assert!(listed.stdout.lines().any(is_row), "{}", listed.stdout);
    assert!(
        listed.stderr.contains(&format!(
            "Run `cargo intake keys revoke {id}` until it exits 0."
        )),
        "{}",
        listed.stderr
    );

    s3.faults().set(Fault::InternalServerError.always());
    let unread = with_table.run(&["keys", "list"]).success();
    assert!(
        unread.stderr.starts_with("The key snapshot cannot be read"),
        "{unread:?}"
    );
    assert!(unread.stdout.contains(&id), "{unread:?}");
    s3.faults().set(Plan::none());
    with_table.run(&revoke).success();
    let listed = list_active();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_active(&listed[0]);
}
