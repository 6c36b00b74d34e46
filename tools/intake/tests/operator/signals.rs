//! `signals list`.

use std::io::Read as _;
use std::process::Stdio;

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
