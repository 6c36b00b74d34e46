//! The key snapshot: every command that changes a key writes it.

use std::process::Stdio;
use std::time::Duration;

use harness::fake_s3::{FakeS3, KEY_SNAPSHOT_PATH, publish};
use harness::fault_proxy::{Fault, Plan};
use harness::{TestApp, key_entry, store_key};
use model::api_key::ApiKey;
use model::timestamp::Timestamp;
use serde_json::Value;

use crate::support::clock::days_ago;
use crate::support::key_snapshot::{PUBLISH, document, finding, key, keys, operator};
use crate::support::key_table::revoke_an_hour_ago;
use crate::support::running_command::RunningCommand;

#[tokio::test(flavor = "multi_thread")]
async fn created_key_is_in_the_snapshot_by_its_hash() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let created = operator(&app, &s3)
        .run_keys_create("web", &["--only", "signals", "--json"])
        .success()
        .json();
    let secret = created[0]["key"].as_str().unwrap();
    let written = keys(&s3);
    let members: Vec<_> = written[0].as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["accountId", "createdAt", "keyHash", "keyId", "only"]
    );
    assert_eq!(written[0]["accountId"], "shop");
    let hash = model::digest::Digest::sha256(secret).to_hex();
    assert_eq!(written[0]["keyHash"], hash);
    assert_eq!(written[0]["only"], "signals");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_that_changes_a_key_writes_the_snapshot() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    let id = &operator.create_key("web").id;
    operator.run(&["keys", "rotate", id]).success();
    assert_eq!(keys(&s3).len(), 2);
    assert!(key(&keys(&s3), id)["expiresAt"].is_u64());
    let revoked = operator.run(&["keys", "revoke", id, "--yes"]).success();
    assert!(
        revoked.stderr.contains("within two minutes if S3 responds"),
        "{}",
        revoked.stderr
    );
    assert!(key(&keys(&s3), id)["revokedAt"].is_string());
    let import = ["keys", "import", "--account", "mine", "--name", "old"];
    operator.run_with(&import, &"k".repeat(32)).success();
    assert_eq!(keys(&s3).len(), 3);

    revoke_an_hour_ago(&app, "mine").await;
    let erase = ["accounts", "erase", "mine", "--yes"];
    let erasing = RunningCommand::start(&operator, &operator.local(&erase));
    while !erasing.note().starts_with("Waiting ") {}
    erasing.interrupt();
    let is_revoked_key_of_mine =
        |key: &Value| key["accountId"] == "mine" && key["revokedAt"].is_string();
    assert!(keys(&s3).iter().any(is_revoked_key_of_mine));
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshot_of_an_operator_whose_clock_is_behind_is_as_new_as_the_one_that_it_replaces() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    // S3 tells the time of an object in whole seconds.
    let now = Timestamp::from_millis(Timestamp::now().millis() / 1_000 * 1_000);
    let written_before = now.plus(Duration::from_mins(2));
    publish(&s3, &[], written_before);
    operator(&app, &s3).create_key("web");
    assert_eq!(keys(&s3).len(), 1);
    let written_at = document(&s3)["writtenAt"].clone();
    assert_eq!(written_at, written_before.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_changes_no_key_only_reads_the_snapshot() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    operator.create_key("web");
    s3.take_requests();
    operator.run(&["keys", "list"]).success();
    assert_eq!(s3.take_requests(), [format!("GET {KEY_SNAPSHOT_PATH}")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_at_the_same_time_leave_a_whole_snapshot() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    let mut processes = Vec::new();
    for number in 0..6 {
        let name = format!("n{number}");
        let mut command =
            operator.command(&["keys", "create", "--account", "shop", "--name", &name]);
        processes.push(command.stdout(Stdio::piped()).spawn().unwrap());
    }
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(keys(&s3).len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_printed_when_only_the_snapshot_cannot_be_written() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    for fault in [Fault::InternalServerError, Fault::FORBIDDEN] {
        s3.faults().set(fault.always());
        let created = operator.run_keys_create("web", &["--json"]);
        assert_eq!(created.code, Some(1), "{created:?}");
        let keys = created.json();
        let key = keys[0]["key"].as_str().unwrap();
        assert!(key.starts_with("intake_sk_"), "{created:?}");
        let last = created.stderr.lines().last().unwrap();
        let id = keys[0]["keyId"].as_str().unwrap();
        let told = format!(
            "error: The key table is written (`cargo intake keys revoke {id}` revokes the new key), and the key snapshot is not \
             written: bucket keys: "
        );
        assert!(last.starts_with(&told), "{last}");
        assert!(last.ends_with("Run `cargo intake keys publish`."), "{last}");
    }
    s3.faults().set(Plan::none());
    assert_eq!(
        operator.run(&PUBLISH).success().stdout,
        "Published 2 key(s).\n"
    );
    assert_eq!(keys(&s3).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_keys_and_those_that_ended_long_ago_are_not_published() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let verification = ApiKey::random_for_verification().unwrap();
    store_key(
        &app.emulator.endpoint(),
        &verification,
        &key_entry("verify-0123"),
    )
    .await;
    app.key_with("old", |record| record.revoked_at = Some(days_ago(31)))
        .await;
    app.key_with("shop", |record| record.revoked_at = Some(days_ago(29)))
        .await;
    let published = operator(&app, &s3)
        .run(&[&PUBLISH[..], &["--json"]].concat())
        .success();
    assert_eq!(published.json()[0]["published"], 1);
    assert_eq!(keys(&s3)[0]["accountId"], "shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_compares_the_snapshot_with_the_table() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = operator(&app, &s3);
    app.key("shop").await;
    let doctor = || finding(&operator.run(&["doctor", "--json"]));
    let publish = "run `cargo intake keys publish`";
    let missing = doctor();
    assert_eq!(missing.result, "failed");
    assert_eq!(missing.seen, format!("there is none: {publish}"));
    operator.run(&PUBLISH).success();
    let published = doctor();
    assert_eq!(published.result, "held");
    assert_eq!(published.seen, "1 key(s), as in the table");
    app.key_with("two", |record| record.key_id = "key_2".to_owned())
        .await;
    revoke_an_hour_ago(&app, "shop").await;
    let different = doctor();
    assert_eq!(different.result, "failed", "{different:?}");
    assert!(
        different.seen.starts_with("2 key(s) differ from the table"),
        "{different:?}"
    );
    assert!(different.seen.ends_with(publish), "{different:?}");
    s3.put(KEY_SNAPSHOT_PATH, "not a snapshot");
    assert_eq!(doctor().result, "failed");
    s3.faults().set(Fault::FORBIDDEN.always());
    let forbidden = doctor();
    assert_eq!(forbidden.result, "failed", "{forbidden:?}");
    assert!(
        forbidden
            .seen
            .starts_with("unknown: bucket keys: these credentials do not permit this"),
        "{forbidden:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshot_that_cannot_be_read_is_told_and_replaced() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    s3.put(KEY_SNAPSHOT_PATH, "not a snapshot");
    let created = operator(&app, &s3).run_keys_create("web", &[]).success();
    let told = "The old key snapshot cannot be read, and is replaced: ";
    assert!(created.stderr.contains(told), "{created:?}");
    assert_eq!(keys(&s3).len(), 1);
}
