//! `signals list` and `signals erase`.

use std::io::Read as _;
use std::ops::Range;
use std::process::Stdio;

use emulator::sqs::FakeSqs;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

use crate::operator::{CommandOutput, Operator};
use crate::running::Running;

const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

/// Sends these signals as if they had arrived at this time.
async fn send_at(app: &TestApp, key: &str, received_at: Timestamp, signals: Value) {
    let call = RequestBuilder::signals(json!({ "signals": signals }));
    let response = app.send(call.key(key).at(received_at)).await;
    assert_eq!(response.status, 200, "{}", response.text);
}

/// Sends a signal of the customer `c`, which arrives now.
async fn send_event(app: &TestApp, key: &str, event_type: &str) {
    let signals = json!([{"customerId": "c", "eventType": event_type}]);
    send_at(app, key, Timestamp::now(), signals).await;
}

/// Sends three signals of one customer: two hours ago, one hour ago in a flow, and now.
async fn send_three_signals(app: &TestApp, key: &str) {
    let now = Timestamp::now().millis();
    let signals = [
        json!({"customerId": "c", "eventType": "first", "data": {"n": 2}, "eventflowIdentifier": null}),
        json!({"customerId": "c", "eventType": "second", "data": {"n": 1}, "eventflowIdentifier": FLOW.to_uppercase()}),
        json!({"customerId": "c", "eventType": "third", "data": {"n": 0}, "eventflowIdentifier": null}),
    ];
    for (hours_ago, signal) in [2, 1, 0].into_iter().zip(signals) {
        let received_at = Timestamp::from_millis(now - hours_ago * 3_600_000);
        send_at(app, key, received_at, json!([signal])).await;
    }
}

/// Lists the signals of the customer `c`.
fn list(operator: &Operator, more: &[&str]) -> CommandOutput {
    let arguments = [&["signals", "list", "--account", "shop", "c"], more].concat();
    operator.run(&arguments)
}

/// The signals of the customer `c`, as JSON.
fn list_json(operator: &Operator, more: &[&str]) -> Vec<Value> {
    let arguments = [&["--json"], more].concat();
    list(operator, &arguments).success().json()
}

#[tokio::test]
async fn signals_are_listed_oldest_first_and_filtered() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let key = app.key("shop").await;
    send_three_signals(&app, &key).await;
    let listed = |more: &[&str]| -> Vec<String> {
        list_json(&operator, more)
            .iter()
            .map(|signal| signal["eventType"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&[]), ["first", "second", "third"]);
    assert_eq!(listed(&["--since", "90m"]), ["second", "third"]);
    assert_eq!(
        listed(&["--since", "3h", "--until", "30m"]),
        ["first", "second"]
    );
    assert_eq!(listed(&["--limit", "2"]), ["second", "third"]);
    assert_eq!(listed(&["--since", "2199-01-01"]), Vec::<String>::new());

    let table = list(&operator, &[]).success();
    let lines: Vec<_> = table.stdout.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]
    );
    assert_eq!(lines[1].find("first"), lines[2].find("second"));
    assert!(lines[3].ends_with(r#"{"n":0}"#), "{}", lines[3]);

    let unknown = operator
        .run(&["signals", "list", "--account", "shop", "unknown"])
        .success();
    assert_eq!(unknown.stdout, "");
    assert_eq!(
        unknown.stderr,
        "No such signals of \"unknown\" in the account shop.\n"
    );
    for option in [
        ["--since", "yesterday"],
        ["--until", "x"],
        ["--limit", "-1"],
        ["--limit", "0"],
    ] {
        let invalid = list(&operator, &option);
        assert_eq!(invalid.code, Some(2), "{invalid:?}");
        assert_eq!(invalid.stdout, "", "{invalid:?}");
    }
}

#[tokio::test]
async fn newest_50_signals_are_listed_unless_a_limit_is_given() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let key = app.key("shop").await;
    let signals: Vec<_> = (0..60)
        .map(|n| json!({"customerId": "c", "eventType": "t", "data": {"n": n}}))
        .collect();
    send_at(&app, &key, Timestamp::now(), json!(signals)).await;
    let assert_lists = |more: &[&str], expected: Range<u64>, note: &str| {
        let listed = list(&operator, &[&["--json"], more].concat()).success();
        let numbers: Vec<u64> = listed
            .json()
            .iter()
            .map(|signal| signal["data"]["n"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, expected.collect::<Vec<_>>(), "{more:?}");
        assert_eq!(listed.stderr, note, "{more:?}");
    };
    let only_newest = |n| {
        format!("There are older ones: only the newest {n} are shown. Use --limit N or --all.\n")
    };
    assert_lists(&[], 10..60, &only_newest(50));
    assert_lists(&["--limit", "3"], 57..60, &only_newest(3));
    assert_lists(&["--limit", "60"], 0..60, "");
    assert_lists(&["--all"], 0..60, "");
    let both = list(&operator, &["--all", "--limit", "3"]);
    assert_eq!(both.code, Some(2));
}

const FOLLOW: [&str; 7] = [
    "signals",
    "list",
    "--account",
    "shop",
    "c",
    "--json",
    "--follow",
];

#[tokio::test]
async fn follow_lists_new_signals_until_ctrl_c() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let key = app.key("shop").await;
    send_three_signals(&app, &key).await;
    let with_limit = [&FOLLOW[..], &["--limit", "1"]].concat();
    let follow = Running::start(&operator, &with_limit);
    let next = || follow.json()["eventType"].as_str().unwrap().to_owned();
    assert_eq!(next(), "third");
    assert!(follow.note().starts_with("There are older ones"));
    assert_eq!(
        follow.note(),
        "Waiting for signals of \"c\" in the account shop. Ctrl-C ends it."
    );
    for event_type in ["fourth", "fifth"] {
        send_event(&app, &key, event_type).await;
        assert_eq!(next(), event_type);
    }
    let ended = follow.interrupt();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stdout, Vec::<String>::new());
    assert_eq!(ended.stderr, Vec::<String>::new());
}

#[tokio::test]
async fn follow_ends_with_the_first_signal_after_its_reader_has_gone() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let key = app.key("shop").await;
    send_three_signals(&app, &key).await;
    // Without --limit, the command lists only what is new.
    let mut process = operator
        .command(&FOLLOW)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    // The first byte of its note says that the command is waiting.
    let mut first_byte = [0];
    let stderr = process.stderr.as_mut().unwrap();
    stderr.read_exact(&mut first_byte).unwrap();
    send_event(&app, &key, "fourth").await;
    assert!(process.wait().unwrap().success());
}

/// Sends signals of the type `card_entered` and others, of two accounts: ten, five and two days
/// ago.
async fn send_cards(app: &TestApp) {
    for account in ["shop", "shop-2"] {
        let key = app.key(account).await;
        for days_ago in [10, 5, 2] {
            let mut signals = vec![json!({"customerId": "c", "eventType": "card_entered"}); 60];
            signals.extend([
                json!({"customerId": "c", "eventType": "card_entered_2"}),
                json!({"customerId": "c", "eventType": "t", "data": {"eventType": "card_entered"}}),
                json!({"emitterId": "e", "stepNodeId": "card_entered", "eventflowIdentifier": FLOW}),
                // These two are rejected.
                json!({"customerId": "", "eventType": "card_entered"}),
                json!({"customerId": "card_entered", "eventType": ""}),
            ]);
            let now = Timestamp::now().millis();
            let received_at = Timestamp::from_millis(now - days_ago * 86_400_000);
            send_at(app, &key, received_at, json!(signals)).await;
        }
    }
}

const ERASE: [&str; 10] = [
    "signals",
    "erase",
    "--account",
    "shop",
    "--type",
    "card_entered",
    "--since",
    "6d",
    "--until",
    "3d",
];

#[tokio::test]
async fn erasure_by_type_deletes_one_type_of_one_account_in_one_period() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    send_cards(&app).await;
    let assert_stored = async |signals: usize, rejected: usize| {
        assert_eq!(app.items("SignalsTable").await.len(), signals);
        assert_eq!(app.items("RejectedSignalsTable").await.len(), rejected);
    };
    let erase = |more: &[&str]| operator.run(&[&ERASE[..], more].concat());
    assert_stored(378, 12).await;

    let counted = erase(&["--dry-run", "--json"]).success().json()[0].clone();
    assert_eq!(counted["signals"], 61);
    assert_eq!(counted["rejectedSignals"], 1);
    assert_eq!(counted["type"], "card_entered");
    assert!(counted.get("erasedAt").is_none());
    let unconfirmed = erase(&[]).error_message();
    assert!(
        unconfirmed.starts_with(
            "Erase 61 signal(s) and 1 rejected signal(s): what the account shop sent of the type"
        ),
        "{unconfirmed}"
    );
    assert_stored(378, 12).await;

    let erased = erase(&["--yes"]).success();
    assert!(
        erased
            .stdout
            .starts_with("Erased what the account shop sent of the type \"card_entered\", from 20"),
        "{}",
        erased.stdout
    );
    assert!(
        erased
            .stdout
            .ends_with("Z: 61 signal(s), 1 rejected signal(s).\n"),
        "{}",
        erased.stdout
    );
    assert_stored(317, 11).await;
    let again = erase(&["--yes", "--json"]).success().json()[0].clone();
    assert_eq!(again["signals"], 0);
    assert_eq!(again["rejectedSignals"], 0);
}

#[tokio::test]
async fn erasure_by_type_refuses_a_period_that_is_not_over() {
    let operator = Operator::of(&TestApp::start());
    let erase = |since, until| {
        let period = ["--since", since, "--until", until];
        operator
            .run(&[&ERASE[..6], &period].concat())
            .error_message()
    };
    assert_eq!(
        erase("1h", "2199-01-01"),
        "--until must not be in the future: what arrives after the erasure would stay."
    );
    assert_eq!(erase("1h", "2h"), "--since must be before --until.");
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_by_type_is_refused_while_messages_are_queued() {
    let app = TestApp::start();
    let sqs = FakeSqs::start().await.unwrap();
    let operator = Operator::of(&app).with_queues(&sqs);
    send_cards(&app).await;
    sqs.set_counts([[1, 0, 0]], [[0, 0, 0]]);
    let erase = |more: &[&str]| operator.run(&[&ERASE[..], more].concat());
    let refused = erase(&["--yes"]).error_message();
    assert!(
        refused.starts_with("The overflow queue has 1 message(s)"),
        "{refused}"
    );
    erase(&["--dry-run"]).success();
    erase(&["--yes", "--anyway"]).success();
    assert_eq!(app.items("SignalsTable").await.len(), 317);
}

#[tokio::test]
async fn interrupted_erasure_by_type_is_completed_by_a_second_run() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    send_cards(&app).await;
    // An --until of just now makes the command wait, and Ctrl-C ends it before it has counted.
    let just_now = Timestamp::now().to_string();
    let period = ["--since", "6d", "--until", &just_now, "--yes"];
    let erase = [&ERASE[..6], &period].concat();
    let erasing = Running::start(&operator, &erase);
    assert!(erasing.note().starts_with("Waiting "));
    let ended = erasing.interrupt();
    assert_eq!(ended.code, None);
    assert_eq!(ended.stdout, Vec::<String>::new());
    let again = operator.run(&erase).success();
    assert!(
        again
            .stdout
            .ends_with("Z: 122 signal(s), 2 rejected signal(s).\n"),
        "{}",
        again.stdout
    );
}
