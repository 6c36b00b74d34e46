//! `signals list` and `signals erase`.

use std::io::Read as _;
use std::process::Stdio;

use emulator::sqs::FakeSqs;
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;
use crate::running::Running;

const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

/// Three signals of one customer: two hours ago, one hour ago in a flow, and now.
async fn history(app: &TestApp, key: &str) {
    let now = Timestamp::now().millis();
    for (hours_ago, event_type, flow) in [
        (2, "first", Value::Null),
        (1, "second", json!(FLOW.to_uppercase())),
        (0, "third", Value::Null),
    ] {
        let signal = json!({"customerId": "c", "eventType": event_type, "data": {"n": hours_ago}, "eventflowIdentifier": flow});
        let received_at = Timestamp::from_millis(now - hours_ago * 3_600_000);
        let call = RequestBuilder::signals(json!({"signals": [signal]}))
            .key(key)
            .at(received_at);
        assert_eq!(app.send(call).await.status, 200);
    }
}

#[tokio::test]
async fn signals_are_listed_oldest_first_and_filtered() {
    let app = TestApp::start();
    let (operator, key) = (Operator::of(&app), app.key("shop").await);
    history(&app, &key).await;
    let listed = |more: &[&str]| {
        let listed = operator
            .run(
                &[
                    &["signals", "list", "--account", "shop", "c", "--json"],
                    more,
                ]
                .concat(),
            )
            .success();
        listed
            .json()
            .iter()
            .map(|signal| signal["eventType"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), ["first", "second", "third"]);
    assert_eq!(listed(&["--since", "90m"]), ["second", "third"]);
    assert_eq!(
        listed(&["--since", "3h", "--until", "30m"]),
        ["first", "second"]
    );
    assert_eq!(listed(&["--limit", "2"]), ["second", "third"]);
    assert_eq!(listed(&["--since", "2199-01-01"]), Vec::<String>::new());

    let table = operator
        .run(&["signals", "list", "--account", "shop", "c"])
        .success();
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
    assert_eq!(
        (unknown.stdout.as_str(), unknown.stderr.as_str()),
        ("", "No such signals of \"unknown\" in the account shop.\n")
    );
    for option in [
        ["--since", "yesterday"],
        ["--until", "x"],
        ["--limit", "-1"],
        ["--limit", "0"],
    ] {
        let invalid =
            operator.run(&[&["signals", "list", "--account", "shop", "c"], &option[..]].concat());
        assert_eq!(
            (invalid.code, invalid.stdout.as_str()),
            (Some(2), ""),
            "{}",
            invalid.stderr
        );
    }
}

#[tokio::test]
async fn newest_50_are_listed_unless_told_otherwise() {
    let app = TestApp::start();
    let (operator, key) = (Operator::of(&app), app.key("shop").await);
    let signals: Vec<_> = (0..60)
        .map(|n| json!({"customerId": "c", "eventType": "t", "data": {"n": n}}))
        .collect();
    app.send(
        RequestBuilder::signals(json!({"signals": signals}))
            .key(&key)
            .at(Timestamp::now()),
    )
    .await;
    let list = |more: &[&str]| {
        let listed = operator
            .run(
                &[
                    &["signals", "list", "--account", "shop", "c", "--json"],
                    more,
                ]
                .concat(),
            )
            .success();
        let numbers: Vec<u64> = listed
            .json()
            .iter()
            .map(|signal| signal["data"]["n"].as_u64().unwrap())
            .collect();
        (numbers, listed.stderr)
    };
    let more = |n| {
        format!("There are older ones: only the newest {n} are shown. Use --limit N or --all.\n")
    };
    assert_eq!(list(&[]), ((10..60).collect(), more(50)));
    assert_eq!(list(&["--limit", "3"]), (vec![57, 58, 59], more(3)));
    assert_eq!(list(&["--limit", "60"]), ((0..60).collect(), String::new()));
    assert_eq!(list(&["--all"]), ((0..60).collect(), String::new()));
    let both = operator.run(&[
        "signals",
        "list",
        "--account",
        "shop",
        "c",
        "--all",
        "--limit",
        "3",
    ]);
    assert_eq!(both.code, Some(2));
}

#[tokio::test]
async fn follow_lists_new_signals_until_ctrl_c() {
    let app = TestApp::start();
    let (operator, key) = (Operator::of(&app), app.key("shop").await);
    history(&app, &key).await;
    let list = [
        "signals",
        "list",
        "--account",
        "shop",
        "c",
        "--json",
        "--follow",
    ];
    let follow = Running::start(&operator, &[&list[..], &["--limit", "1"]].concat());
    let next = || follow.json()["eventType"].as_str().unwrap().to_owned();
    assert_eq!(next(), "third");
    assert!(follow.note().starts_with("There are older ones"));
    assert_eq!(
        follow.note(),
        "Waiting for signals of \"c\" in the account shop. Ctrl-C ends it."
    );
    for event_type in ["fourth", "fifth"] {
        let signal = json!({"signals": [{"customerId": "c", "eventType": event_type}]});
        app.send(
            RequestBuilder::signals(signal)
                .key(&key)
                .at(Timestamp::now()),
        )
        .await;
        assert_eq!(next(), event_type);
    }
    assert_eq!(follow.interrupt(), (Some(0), Vec::new(), Vec::new()));
    // Alone, it lists only what is new: with a pipe that is closed, it notices with the first line.
    let mut process = operator
        .command(&list)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    let mut waiting = [0];
    process
        .stderr
        .as_mut()
        .unwrap()
        .read_exact(&mut waiting)
        .unwrap();
    let signal = json!({"signals": [{"customerId": "c", "eventType": "sixth"}]});
    app.send(
        RequestBuilder::signals(signal)
            .key(&key)
            .at(Timestamp::now()),
    )
    .await;
    assert!(process.wait().unwrap().success());
}

/// Sends these signals as if they had arrived `days_ago`.
async fn send_at(app: &TestApp, key: &str, days_ago: u64, signals: Value) {
    let received_at = Timestamp::from_millis(Timestamp::now().millis() - days_ago * 86_400_000);
    let call = RequestBuilder::signals(json!({ "signals": signals }));
    let response = app.send(call.key(key).at(received_at)).await;
    assert_eq!(response.status, 200, "{}", response.text);
}

/// Signals of the type `card_entered` and others, of two accounts: of ten, five and two days ago.
async fn cards(app: &TestApp) {
    for account in ["shop", "shop-2"] {
        let key = app.key(account).await;
        for days_ago in [10, 5, 2] {
            let mut signals = vec![json!({"customerId": "c", "eventType": "card_entered"}); 60];
            signals.extend([
                json!({"customerId": "c", "eventType": "card_entered_2"}),
                json!({"customerId": "c", "eventType": "t", "data": {"eventType": "card_entered"}}),
                json!({"emitterId": "e", "stepNodeId": "card_entered", "eventflowIdentifier": FLOW}),
                // Rejected.
                json!({"customerId": "", "eventType": "card_entered"}),
                json!({"customerId": "card_entered", "eventType": ""}),
            ]);
            send_at(app, &key, days_ago, json!(signals)).await;
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
    cards(&app).await;
    let stored = async || {
        let [signals, rejected] = ["SignalsTable", "RejectedSignalsTable"];
        [
            app.items(signals).await.len(),
            app.items(rejected).await.len(),
        ]
    };
    let erase = |more: &[&str]| operator.run(&[&ERASE[..], more].concat());
    assert_eq!(stored().await, [378, 12]);

    let counted = erase(&["--dry-run", "--json"]).success().json()[0].clone();
    assert_eq!([&counted["signals"], &counted["rejectedSignals"]], [61, 1]);
    assert_eq!(counted["type"], "card_entered");
    assert!(counted.get("erasedAt").is_none());
    let unconfirmed = erase(&[]).error_message();
    assert!(
        unconfirmed.starts_with(
            "Erase 61 signal(s) and 1 rejected signal(s): what the account shop sent of the type"
        ),
        "{unconfirmed}"
    );
    assert_eq!(stored().await, [378, 12]);

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
    assert_eq!(stored().await, [317, 11]);
    let again = erase(&["--yes", "--json"]).success().json()[0].clone();
    assert_eq!([&again["signals"], &again["rejectedSignals"]], [0, 0]);
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
    let (app, sqs) = (TestApp::start(), FakeSqs::start().await.unwrap());
    let operator = Operator::of(&app).with_queues(&sqs);
    cards(&app).await;
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
    cards(&app).await;
    // An --until of just now makes it wait, and Ctrl-C ends it before it has counted.
    let just_now = Timestamp::now().to_string();
    let period = ["--since", "6d", "--until", &just_now, "--yes"];
    let erase = [&ERASE[..6], &period].concat();
    let erasing = Running::start(&operator, &erase);
    assert!(erasing.note().starts_with("Waiting "));
    let (code, stdout, _) = erasing.interrupt();
    assert_eq!((code, stdout), (None, Vec::new()));
    let again = operator.run(&erase).success();
    assert!(
        again
            .stdout
            .ends_with("Z: 122 signal(s), 2 rejected signal(s).\n"),
        "{}",
        again.stdout
    );
}
