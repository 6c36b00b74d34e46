//! `keys`.

use std::time::Duration;

use model::timestamp::Timestamp;
use serde_json::Value;
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

async fn status(app: &TestApp, key: &str) -> u16 {
    app.send(RequestBuilder::ping().key(key)).await.status
}

fn key_of(text: &str) -> &str {
    text.strip_suffix('\n').expect("one line")
}

/// The id of the only key in this state.
fn id_of(operator: &Operator, state: &str) -> String {
    let listed = operator.run(&["keys", "list", "--json"]).success().json();
    let of_state: Vec<&Value> = listed.iter().filter(|key| key["state"] == state).collect();
    let [one] = of_state[..] else {
        panic!("{listed:?}")
    };
    one["keyId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn created_key_is_listed_without_its_value_and_rotated() {
    let app = TestApp::start();
    let operator = Operator::of(&app);

    let created = operator
        .run(&["keys", "create", "--account", "shop", "--name", "web"])
        .success();
    let key = key_of(&created.stdout);
    assert!(
        key.starts_with("intake_sk_") && key.len() == 74,
        "{}",
        created.stdout
    );
    assert!(
        created
            .stderr
            .contains("(\"web\") of the account shop does not expire."),
        "{}",
        created.stderr
    );
    assert!(!created.stderr.contains(key));
    assert_eq!(status(&app, key).await, 200);

    let id = id_of(&operator, "active");
    for command in [
        &["keys", "list"][..],
        &["keys", "list", "--account", "shop"],
    ] {
        let listed = operator.run(command).success();
        assert!(
            listed.stdout.contains(&id) && listed.stdout.contains("web"),
            "{}",
            listed.stdout
        );
        assert!(!listed.stdout.contains("intake_sk_"), "{}", listed.stdout);
        let rows = operator.run(&["keys", "list", "--json"]).success().json();
        assert!(
            listed
                .stdout
                .contains(rows[0]["createdAt"].as_str().unwrap()),
            "{}",
            listed.stdout
        );
        assert_eq!(listed.stderr, "");
    }

    let rotated = operator
        .run(&["keys", "rotate", &id, "--overlap", "0s", "--yes"])
        .success();
    let new = key_of(&rotated.stdout);
    // A function that has cached the old key accepts it for a minute: this one has not.
    let fresh = TestApp::over(
        TestApp::emulator(),
        &app.emulator.endpoint(),
        &app.emulator.endpoint(),
        None,
    );
    assert_eq!(
        (status(&fresh, key).await, status(&fresh, new).await),
        (401, 200)
    );
    assert_eq!(id_of(&operator, "expired"), id);
    let active = operator.run(&["keys", "list", "--active"]).success().stdout;
    assert!(
        !active.contains(&id) && active.contains(&id_of(&operator, "active")),
        "{active}"
    );
}

#[tokio::test]
async fn rotation_with_an_overlap_keeps_the_lifetime() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    operator
        .run(&[
            "keys",
            "create",
            "--account",
            "shop",
            "--name",
            "web",
            "--expires-in",
            "90d",
        ])
        .success();
    operator
        .run(&[
            "keys",
            "rotate",
            &id_of(&operator, "active"),
            "--overlap",
            "24h",
        ])
        .success();
    let listed = operator.run(&["keys", "list", "--json"]).success().json();
    let life = |key: &Value| {
        let seconds = |name: &str| {
            let time: Timestamp = key[name].as_str().unwrap().parse().unwrap();
            time.seconds()
        };
        seconds("expiresAt") - seconds("createdAt")
    };
    let day = 24 * 60 * 60;
    let mut lives: Vec<u64> = listed.iter().map(life).collect();
    lives.sort_unstable();
    assert!((day - 2..day + 60).contains(&lives[0]), "{lives:?}");
    assert!((90 * day - 2..=90 * day).contains(&lives[1]), "{lives:?}");
    assert!(
        listed
            .iter()
            .all(|key| key["state"] == "active" && key["name"] == "web"),
        "{listed:?}"
    );
}

#[tokio::test]
async fn revoked_key_is_rejected_and_stays_revoked() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let created = operator
        .run(&[
            "keys",
            "create",
            "--account",
            "shop",
            "--name",
            "web",
            "--json",
        ])
        .success()
        .json();
    let (id, key) = (
        created[0]["keyId"].as_str().unwrap(),
        created[0]["key"].as_str().unwrap(),
    );

    let unconfirmed = operator.run(&["keys", "revoke", id]).error_message();
    assert!(unconfirmed.contains("add --yes"), "{unconfirmed}");
    assert_eq!(status(&app, key).await, 200);

    operator.run(&["keys", "revoke", id, "--yes"]).success();
    let fresh = TestApp::over(
        TestApp::emulator(),
        &app.emulator.endpoint(),
        &app.emulator.endpoint(),
        None,
    );
    assert_eq!(status(&fresh, key).await, 401);
    // A function that has cached the key rejects it after a minute.
    let after = |seconds| {
        RequestBuilder::ping()
            .key(key)
            .at(Timestamp::now().plus(Duration::from_secs(seconds)))
    };
    assert_eq!(app.send(after(61)).await.status, 401);
    let list = || operator.run(&["keys", "list", "--json"]).success().json();
    let listed = list();
    let again = operator.run(&["keys", "revoke", id, "--yes"]).success();
    assert!(again.stderr.contains("already revoked"), "{}", again.stderr);
    assert_eq!(list(), listed);
    let rotated = operator.run(&["keys", "rotate", id]).error_message();
    assert!(rotated.contains("is not active"), "{rotated}");
}

#[tokio::test]
async fn imported_key_is_read_from_standard_input_and_accepted() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let import = [
        "keys",
        "import",
        "--account",
        "shop",
        "--name",
        "other system",
    ];
    let key = "a key-of:another system".replace(' ', "_") + &"7".repeat(20);
    let imported = operator.run_with(&import, &format!("{key}\r\n")).success();
    assert_eq!(key_of(&imported.stdout), id_of(&operator, "active"));
    assert!(!imported.stderr.contains(&key), "{}", imported.stderr);
    assert_eq!(status(&app, &key).await, 200);

    let again = operator
        .run_with(
            &["keys", "import", "--account", "other", "--name", "x"],
            &key,
        )
        .error_message();
    assert!(again.contains("already exists"), "{again}");
    for invalid in [
        "",
        "short",
        &format!("{} {}", "7".repeat(20), "7".repeat(20)),
        &"é".repeat(40),
        &"7".repeat(5000),
    ] {
        let error = operator.run_with(&import, invalid).error_message();
        assert!(error.contains("32 to 4096 visible ASCII"), "{error}");
    }
}

#[test]
fn unknown_key_id_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    for command in [
        &["keys", "revoke", "key_x", "--yes"][..],
        &["keys", "rotate", "key_x"],
    ] {
        assert_eq!(
            operator.run(command).error_message(),
            "The key key_x does not exist. `cargo intake keys list` lists the keys."
        );
    }
}

#[tokio::test]
async fn key_restricted_to_an_endpoint_stays_so_when_it_is_rotated() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let arguments = [
        "keys",
        "create",
        "--account",
        "shop",
        "--name",
        "web",
        "--only",
        "signals",
    ];
    let created = operator.run(&arguments).success();
    assert!(
        created.stderr.contains("and is only for signals."),
        "{}",
        created.stderr
    );
    let id = id_of(&operator, "active");
    let rotated = operator
        .run(&["keys", "rotate", &id, "--overlap", "0s", "--yes"])
        .success();
    let listed = operator
        .run(&["keys", "list", "--active", "--json"])
        .success()
        .json();
    assert_eq!(listed[0]["only"], "signals");
    assert_eq!(
        app.send(RequestBuilder::customer("{}").key(key_of(&rotated.stdout)))
            .await
            .status,
        403
    );

    let unknown = operator.run(&[
        "keys",
        "create",
        "--account",
        "shop",
        "--name",
        "web",
        "--only",
        "orders",
    ]);
    assert!(
        unknown
            .stderr
            .contains("[possible values: customers, signals]"),
        "{}",
        unknown.stderr
    );
}
