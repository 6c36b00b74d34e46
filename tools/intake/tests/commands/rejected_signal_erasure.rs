//! Erasures and exports find a person in rejected signals, in whatever form the signals name it. Those that
//! do not say for certain whose they are are listed, and stay until an operator names them.

use harness::{Item, RequestBuilder, TestApp, table_name};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::hours_ago;
use crate::support::invalid_signals::{
    CUT_AFTER, Expected, Generator, ID, InvalidSignal, OTHERS, expect_what_the_function_read,
    markers, send_invalid, without_filler,
};
use crate::support::operator::Operator;
use crate::support::requests::send;
use crate::support::terminal::Terminal;

/// The markers of the rejected signals in the table.
async fn stored_markers(app: &TestApp, signals: &[InvalidSignal]) -> Vec<String> {
    let items = app.items("RejectedSignalsTable").await;
    let payloads: Vec<_> = items
        .iter()
        .map(|item| without_filler(item["payload"].as_s().unwrap()))
        .collect();
    let is_stored = |marker: &str| payloads.iter().any(|payload| payload.contains(marker));
    signals
        .iter()
        .filter(|signal| is_stored(&signal.marker))
        .map(|signal| signal.marker.clone())
        .collect()
}

#[tokio::test]
async fn random_invalid_signals_of_a_person_are_found_and_only_certain_ones_are_erased() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    let key = app.key("shop").await;
    let mut generator = Generator::new(seed);
    let mut signals: Vec<_> = (0..40).map(|_| generator.signal(ID)).collect();
    signals.extend((0..40).map(|n| generator.signal(OTHERS[n % OTHERS.len()])));
    send_invalid(&app, &key, &signals, Timestamp::now()).await;
    expect_what_the_function_read(&app, &mut signals).await;
    let certain = markers(&signals, &[Expected::Certain]);
    let doubtful = markers(&signals, &[Expected::Doubtful]);

    let export = ["customers", "export", "--account", "shop", ID, "--json"];
    let exported = operator.run(&export);
    assert_eq!(exported.code, Some(1), "seed {seed}");
    let exported_signals = exported.json()[0]["rejectedSignals"].clone();
    let payload_of = |item: &Value| without_filler(item["payload"].as_str().unwrap());
    let payloads: Vec<_> = exported_signals
        .as_array()
        .unwrap()
        .iter()
        .map(payload_of)
        .collect();
    assert_eq!(payloads.len(), certain.len(), "seed {seed}");
    for marker in &certain {
        let is_exported = payloads.iter().any(|payload| payload.contains(marker));
        assert!(is_exported, "seed {seed}: {marker}");
    }

    // In a pipeline, the doubtful ones stay.
    let erase = [
        "customers",
        "erase",
        "--account",
        "shop",
        ID,
        "--yes",
        "--json",
    ];
    let erased = operator.run(&erase);
    assert_eq!(erased.code, Some(1), "seed {seed}: {}", erased.stderr);
    let line = &erased.json()[0];
    assert_eq!(line["rejectedSignals"], certain.len(), "seed {seed}");
    let listed = line["doubtfulRejectedSignals"].as_array().unwrap().clone();
    assert_eq!(listed.len(), doubtful.len(), "seed {seed}");
    let left = markers(&signals, &[Expected::Absent, Expected::Doubtful]);
    assert_eq!(stored_markers(&app, &signals).await, left, "seed {seed}");

    // An id that none of them has is an error, before anything is deleted.
    let wrong = [&erase[..], &["--rejected", "2026-11-20-07-3fa85f64-3"]].concat();
    assert_eq!(
        operator.run(&wrong).error_message(),
        "No rejected signal that may belong to it has the id 2026-11-20-07-3fa85f64-3: it is misspelled, or erased already. \
         Correct --rejected, or leave it out.",
        "seed {seed}"
    );
    assert_eq!(stored_markers(&app, &signals).await, left, "seed {seed}");
}

/// Sends two signals with a number for a type, an hour ago: one in a payload that is cut.
async fn send_types(app: &TestApp, key: &str) {
    let filler = "x".repeat(CUT_AFTER);
    let signal = |json: String| InvalidSignal {
        json,
        marker: String::new(),
        expected: Expected::Absent,
    };
    let signals = [
        signal("{\"customerId\":\"c\",\"eventType\":4711}".to_owned()),
        signal(format!(
            "{{\"customerId\":\"c\",\"eventType\":4711,\"data\":{{\"filler\":\"{filler}\"}}}}"
        )),
    ];
    send_invalid(app, key, &signals, hours_ago(1)).await;
}

/// Erases the signals of the type `4711`.
const ERASE_TYPE: [&str; 10] = [
    "signals",
    "erase",
    "--account",
    "shop",
    "--type",
    "4711",
    "--since",
    "2h",
    "--until",
    "30m",
];

#[tokio::test]
async fn erasure_by_type_finds_numbers_and_leaves_what_was_cut() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    let key = app.key("shop").await;
    send_types(&app, &key).await;
    let counted = operator.run(&[&ERASE_TYPE[..], &["--dry-run", "--json"]].concat());
    let counted = counted.success().json();
    assert_eq!(counted[0]["rejectedSignals"], 1);
    let doubtful = counted[0]["doubtfulRejectedSignals"].as_array().unwrap();
    assert_eq!(doubtful.len(), 1);
    let erased = operator.run(&[&ERASE_TYPE[..], &["--yes", "--json"]].concat());
    assert_eq!(erased.code, Some(1), "{erased:?}");
    assert_eq!(
        erased.stderr.lines().last().unwrap(),
        "error: 1 rejected signal(s) may belong to it, and were not erased. Look at their payloads in `cargo intake \
         --local='dev.env' rejected list --json`, and run the command again with --rejected ID for each that is to be erased."
    );
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 1);
}

/// Stores a rejected signal again without some of its attributes.
async fn put_without(app: &TestApp, item: &Item, attributes: &[&str]) {
    let mut left = item.clone();
    for attribute in attributes {
        left.remove(*attribute).unwrap();
    }
    let put = app
        .client
        .put_item()
        .table_name(table_name("RejectedSignalsTable"))
        .set_item(Some(left));
    put.send().await.unwrap();
}

#[tokio::test]
async fn item_that_cannot_be_read_and_may_be_of_the_person_makes_an_erasure_and_an_export_fail() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    let key = app.key("shop").await;
    let json = r#"{"customerId":"1001","eventType":""}"#.to_owned();
    let signal = InvalidSignal {
        json,
        marker: String::new(),
        expected: Expected::Certain,
    };
    send_invalid(&app, &key, &[signal], hours_ago(1)).await;
    let item = app.items("RejectedSignalsTable").await.remove(0);
    put_without(&app, &item, &["payload", "subjectId"]).await;
    let erased = operator.run(&[&ERASE_TYPE[..], &["--yes"]].concat());
    assert_eq!(erased.code, Some(1), "{erased:?}");
    assert!(
        erased.stderr.ends_with(
            "error: 1 item(s) of rejected signals cannot be read, and were not erased: look at them in the table, as named \
             above.\n"
        ),
        "{erased:?}"
    );
    let key = item["sk"].as_s().unwrap();
    assert!(
        erased.stderr.contains(&format!("sk {key:?}.")),
        "{erased:?}"
    );
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 1);
    let key = json!({"customerId": ID, "customerData": {}});
    send(&app, &app.key("shop").await, RequestBuilder::customer(key)).await;
    let export = ["customers", "export", "--account", "shop", ID, "--json"];
    let exported = operator.run(&export);
    assert_eq!(exported.code, Some(1), "{exported:?}");
    assert!(
        exported.stderr.ends_with(
            "error: 1 item(s) of rejected signals cannot be read, and are not in the document: look at them in the table, as named \
             above.\n"
        ),
        "{exported:?}"
    );
}

#[tokio::test]
async fn operator_at_a_terminal_names_the_doubtful_signals_or_leaves_them() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    let key = app.key("shop").await;
    send_types(&app, &key).await;
    let mut terminal = Terminal::run(&operator, &ERASE_TYPE);
    terminal.wait_for("or nothing to leave them:");
    terminal.write("other\n");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.screen.contains("other is not in the list above."),
        "{ended:?}"
    );
    let mut lines = ended.screen.lines();
    let id = lines.find(|line| line.starts_with("  20")).unwrap().trim();

    let mut terminal = Terminal::run(&operator, &ERASE_TYPE);
    terminal.wait_for("or nothing to leave them:");
    terminal.write("\n");
    terminal.wait_for("Erase 0 signal(s), 1 rejected signal(s)");
    terminal.write("n\n");
    terminal.end().assert_nothing_was_changed();

    let mut terminal = Terminal::run(&operator, &ERASE_TYPE);
    terminal.wait_for("or nothing to leave them:");
    terminal.write(&format!("{id}\n"));
    terminal.wait_for("Erase 0 signal(s), 2 rejected signal(s)");
    terminal.write("4711\n");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 0);
}
