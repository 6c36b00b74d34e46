//! `keys` creates, imports, lists, rotates and revokes keys in the key table.

use std::process::Stdio;
use std::time::Duration;

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::Value;

use crate::support::operator::{CommandOutput, Operator};

async fn status(app: &TestApp, key: &str) -> u16 {
    app.send(RequestBuilder::ping().key(key)).await.status
}

/// A function over the same tables, in a process that has not cached any key.
fn app_without_cached_keys(app: &TestApp) -> TestApp {
    let tables = app.emulator.endpoint();
    TestApp::with_dynamodb(TestApp::emulator(), &tables, &tables, None)
}

/// The key or key id that a command has printed as its only line.
fn printed_line(output: &CommandOutput) -> &str {
    output.stdout.strip_suffix('\n').expect("one line")
}

/// The id of the only key in this state.
fn id_of(operator: &Operator, state: &str) -> String {
    let listed = operator.list_keys();
    let of_state: Vec<&Value> = listed.iter().filter(|key| key["state"] == state).collect();
    let [one] = of_state[..] else {
        panic!("{listed:?}")
    };
    one["keyId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn created_key_is_listed_without_its_value_and_rotated() {
    let app = TestApp::start();
    let operator = Operator::new(&app);

    let created = operator.run_keys_create("web", &[]).success();
    let key = printed_line(&created);
    assert!(key.starts_with("intake_sk_"), "{key}");
    assert_eq!(key.len(), 74, "{key}");
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
        let rows = operator.list_keys();
        let created_at = rows[0]["createdAt"].as_str().unwrap();
        assert!(listed.stdout.contains(created_at), "{}", listed.stdout);
        assert_eq!(listed.stderr, "");
    }

    let rotated = operator
        .run(&["keys", "rotate", &id, "--overlap", "0s", "--yes"])
        .success();
    let new = printed_line(&rotated);
    // A function that has cached the old key accepts it for a minute.
    let fresh = app_without_cached_keys(&app);
    assert_eq!(status(&fresh, key).await, 401);
    assert_eq!(status(&fresh, new).await, 200);
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
    let operator = Operator::new(&app);
    operator
        .run_keys_create("web", &["--expires-in", "90d"])
        .success();
    let id = id_of(&operator, "active");
    operator
        .run(&["keys", "rotate", &id, "--overlap", "24h"])
        .success();
    let listed = operator.list_keys();
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
    let [life_of_old, life_of_new] = lives[..] else {
        panic!("{lives:?}")
    };
    assert!((day - 2..day + 60).contains(&life_of_old), "{lives:?}");
    assert!(
        (90 * day - 2..=90 * day).contains(&life_of_new),
        "{lives:?}"
    );
    assert!(
        listed
            .iter()
            .all(|key| key["state"] == "active" && key["name"] == "web"),
        "{listed:?}"
    );

    // The end of the old key is that of the overlap now.
    let again = operator.run(&["keys", "rotate", &id]).error_message();
    assert!(
        again.contains("The expiry may be the end of an overlap. Pass --expires-in"),
        "{again}"
    );
    assert_eq!(operator.list_keys().len(), 2);
    operator
        .run(&["keys", "rotate", &id, "--expires-in", "90d"])
        .success();
    assert_eq!(operator.list_keys().len(), 3);
}

#[tokio::test]
async fn revoked_key_is_rejected_and_stays_revoked() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = operator.create_key("web");

    let unconfirmed = operator.run(&["keys", "revoke", &key.id]).error_message();
    assert!(unconfirmed.contains("add --yes"), "{unconfirmed}");
    assert_eq!(status(&app, &key.secret).await, 200);

    let revoke = ["keys", "revoke", &key.id, "--yes"];
    operator.run(&revoke).success();
    let fresh = app_without_cached_keys(&app);
    assert_eq!(status(&fresh, &key.secret).await, 401);
    // A function that has cached the key rejects it after a minute.
    let in_a_minute = Timestamp::now().plus(Duration::from_secs(61));
    let ping = RequestBuilder::ping()
        .key(&key.secret)
        .received_at(in_a_minute);
    assert_eq!(app.send(ping).await.status, 401);
    let listed = operator.list_keys();
    let again = operator.run(&revoke).success();
    assert!(again.stderr.contains("already revoked"), "{}", again.stderr);
    assert_eq!(operator.list_keys(), listed);
    let rotated = operator.run(&["keys", "rotate", &key.id]).error_message();
    assert!(rotated.contains("is not active"), "{rotated}");
}

#[tokio::test]
async fn imported_key_is_read_from_standard_input_and_accepted() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
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
    assert_eq!(printed_line(&imported), id_of(&operator, "active"));
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
fn imported_key_with_the_prefix_of_a_verification_key_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let import = ["keys", "import", "--account", "shop", "--name", "web"];
    let key = format!("intake_vk_{}", "7".repeat(64));
    let error = operator.run_with(&import, &key).error_message();
    assert!(
        error.ends_with("is one of `cargo intake verify`: functions would reject it"),
        "{error}"
    );
    assert!(operator.list_keys().is_empty());
}

#[test]
fn name_of_a_key_that_is_blank_too_long_or_not_printable_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    for name in ["", " ", "a\tb", &"n".repeat(65)] {
        let refused = operator.run_keys_create(name, &[]);
        assert_eq!(refused.code, Some(2), "{name:?}: {refused:?}");
        assert!(
            refused
                .stderr
                .contains("a key's name is 1 to 64 printable characters"),
            "{refused:?}"
        );
    }
    operator.run_keys_create(&"n".repeat(64), &[]).success();
    assert_eq!(operator.list_keys().len(), 1);
}

#[test]
fn created_key_that_cannot_be_printed_is_stored_and_to_be_revoked() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let create = ["keys", "create", "--account", "shop", "--name", "web"];
    let output = operator.command(&create).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let id = id_of(&operator, "active");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.starts_with(&format!("The key {id} was stored but not printed: ")),
        "{stderr}"
    );
    assert!(
        stderr.ends_with(&format!(
            "Revoke it with `cargo intake keys revoke {id}`.\n"
        )),
        "{stderr}"
    );
}

#[test]
fn key_in_place_of_its_id_is_refused_and_not_printed() {
    let operator = Operator::new(&TestApp::start());
    for command in ["revoke", "rotate"] {
        for value in ["intake_sk_0123456789abcdef", "", "key_\u{1b}[31m"] {
            let refused = operator.run(&["keys", command, value]);
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(
                refused.stderr.contains("this is not the id of a key"),
                "{refused:?}"
            );
            assert!(!refused.stderr.contains("intake_sk"), "{refused:?}");
        }
    }
}

#[test]
fn lifetime_of_less_than_a_minute_is_refused() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    for lifetime in ["0s", "1ms", "59s"] {
        let refused = operator.run_keys_create("web", &["--expires-in", lifetime]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused
                .stderr
                .contains("a key is valid for a minute or longer"),
            "{refused:?}"
        );
    }
    operator
        .run_keys_create("web", &["--expires-in", "60s"])
        .success();
}

#[test]
fn key_is_not_created_when_standard_output_is_closed() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let create = ["keys", "create", "--account", "shop", "--name", "web"];
    let ended = operator
        .command(&create)
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(ended.stderr).unwrap(),
        "error: The key is not created, because it could not be printed: Standard output is closed, or is /dev/null.\n"
    );
    assert!(operator.list_keys().is_empty());
}

#[test]
fn unknown_key_id_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
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
    let operator = Operator::new(&app);
    let created = operator
        .run_keys_create("web", &["--only", "signals"])
        .success();
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
    let customer = RequestBuilder::customer("{}").key(printed_line(&rotated));
    assert_eq!(app.send(customer).await.status, 403);

    let unknown = operator.run_keys_create("web", &["--only", "orders"]);
    assert!(
        unknown
            .stderr
            .contains("[possible values: customers, signals]"),
        "{}",
        unknown.stderr
    );
}
