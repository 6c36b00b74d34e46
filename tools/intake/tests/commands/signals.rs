//! `signals list` writes the signals of a subject in the order of their arrival.

use std::io::Read as _;
use std::ops::Range;
use std::process::Stdio;
use std::time::Duration;

use harness::TestApp;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::hours_ago;
use crate::support::operator::{CommandOutput, Operator};
use crate::support::requests::{FLOW, send_at};
use crate::support::running_command::RunningCommand;

/// Sends a signal of the customer `c`, which arrives now.
async fn send_event(app: &TestApp, key: &str, event_type: &str) {
    let signals = json!([{"customerId": "c", "eventType": event_type}]);
    send_at(app, key, Timestamp::now(), signals).await;
}

/// Sends three signals of one customer: two hours ago, one hour ago in a flow, and now.
async fn send_three_signals(app: &TestApp, key: &str) {
    let signals = [
        json!({"customerId": "c", "eventType": "first", "data": {"n": 2}, "eventflowIdentifier": null}),
        json!({"customerId": "c", "eventType": "second", "data": {"n": 1}, "eventflowIdentifier": FLOW.to_uppercase()}),
        json!({"customerId": "c", "eventType": "third", "data": {"n": 0}, "eventflowIdentifier": null}),
    ];
    for (hours, signal) in [2, 1, 0].into_iter().zip(signals) {
        send_at(app, key, hours_ago(hours), json!([signal])).await;
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
    let operator = Operator::new(&app);
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
    let operator = Operator::new(&app);
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
    let largest = usize::MAX.to_string();
    assert_lists(&["--limit", &largest], 0..60, "");
    assert_lists(&["--all"], 0..60, "");
    let both = list(&operator, &["--all", "--limit", "3"]);
    assert_eq!(both.code, Some(2));
}

pub(crate) const FOLLOW: [&str; 7] = [
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
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    send_three_signals(&app, &key).await;
    let with_limit = [&FOLLOW[..], &["--limit", "1"]].concat();
    let follow = RunningCommand::start(&operator, &with_limit);
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
async fn follow_goes_by_the_clock_of_the_functions() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    let an_hour_ago = hours_ago(1);
    let send = async |seconds, event_type| {
        let at = an_hour_ago.plus(Duration::from_secs(seconds));
        let signals = json!([{"customerId": "c", "eventType": event_type}]);
        send_at(&app, &key, at, signals).await;
    };
    send(0, "stored").await;
    let follow = RunningCommand::start(&operator, &FOLLOW);
    assert!(follow.note().starts_with("Waiting for signals"));
    send(1, "new").await;
    assert_eq!(follow.json()["eventType"], "new");
    assert_eq!(follow.interrupt().code, Some(0));
}

#[tokio::test]
async fn follow_ends_with_the_first_signal_after_its_reader_has_gone() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
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

#[test]
fn period_or_id_that_no_signal_can_have_is_an_error() {
    let operator = Operator::new(&TestApp::start());
    let list = ["signals", "list", "--account", "shop"];
    let reversed = [&list[..], &["c", "--since", "1h", "--until", "2h"]].concat();
    assert_eq!(
        operator.run(&reversed).error_message(),
        "--since must be before --until."
    );
    let long = "c".repeat(257);
    for command in [
        &list[..],
        &["customers", "show", "--account", "shop"],
        &["customers", "erase", "--account", "shop"],
        &["customers", "export", "--account", "shop"],
    ] {
        for id in [long.as_str(), ""] {
            let refused = operator.run(&[command, &[id]].concat());
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(
                refused.stderr.contains("an id has 1 to 256 characters"),
                "{refused:?}"
            );
        }
    }
}
