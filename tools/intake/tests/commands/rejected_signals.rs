//! `rejected` lists rejected signals, and stores those that have become valid.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Item, RequestBuilder, TestApp, table_name};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::hours_ago;
use crate::support::fault::{OperatorBehindProxy, operator_with_refused_value};
use crate::support::operator::{CommandOutput, Operator};
use crate::support::requests::send_rejected;

const REQUEST: &str = "6F1C0A52-7C1E-4A3E-9F0B-0D2F6F8A1B11";

const BOTH_ACCEPTED: &str =
    "2 accepted, 0 still rejected, 0 would already be expired, 0 missing.\n";

/// Sends one valid signal between two invalid ones.
async fn send(app: &TestApp, received_at: Timestamp) {
    let key = app.key("shop").await;
    let body = format!(
        r#"{{"requestIdentifier":"{REQUEST}","signals":[
            {{"customerId":"ada", "eventType":"buy",
              "data":7}},
            {{"customerId":"ada","eventType":"look"}},
            {{"customerId":"undefined","eventType":"look","data":{{"price":123456789012345678901234567890}}}}
        ]}}"#
    );
    let response = app
        .send(
            RequestBuilder::signals(body)
                .key(&key)
                .received_at(received_at),
        )
        .await;
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["rejected"], 2);
}

fn run_list(operator: &Operator, more: &[&str]) -> CommandOutput {
    let arguments = [&["rejected", "list", "--account", "shop"], more].concat();
    operator.run(&arguments).success()
}

fn list(operator: &Operator) -> Vec<Value> {
    run_list(operator, &["--since", "1d", "--json"]).json()
}

/// Writes the rejected signals of a day into the file `unchanged`, and as valid ones into the file `edited`. A list
/// of all makes hundreds of calls.
fn write_lists(operator: &Operator) {
    write_lists_of(operator, &["--since", "1d", "--json"]);
}

fn write_lists_of(operator: &Operator, list: &[&str]) {
    let unchanged = run_list(operator, list).stdout;
    let edited = unchanged
        .replace("\"data\":7", "\"data\":{\"n\":7}")
        .replace("undefined", "bob");
    operator.file("unchanged", &unchanged);
    operator.file("edited", &edited);
}

fn redrive(operator: &Operator, more: &[&str]) -> CommandOutput {
    let arguments = [&["rejected", "redrive", "--account", "shop"], more].concat();
    operator.run(&arguments)
}

#[tokio::test]
async fn rejected_signals_are_listed_with_their_first_errors() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;

    let listed = list(&operator);
    let codes: Vec<_> = listed
        .iter()
        .map(|signal| signal["errors"][0]["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["invalid-type", "placeholder-identifier"]);
    let table = run_list(&operator, &["--since", "1d"]).stdout;
    assert!(table.contains("signals[2].customerId must"), "{table}");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert_eq!(
        lines[1].find("invalid-type"),
        lines[2].find("placeholder-identifier")
    );

    let recent = run_list(&operator, &["--since", "5m"]);
    assert_eq!(recent.stdout, "");
    assert!(
        recent.stderr.contains("No such rejected signals"),
        "{recent:?}"
    );
}

#[tokio::test]
async fn rejected_signals_that_are_redriven_unchanged_stay() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    write_lists(&operator);

    let unchanged = redrive(&operator, &["--from", "unchanged", "--json"]);
    assert_eq!(unchanged.code, Some(1));
    assert_eq!(unchanged.stderr, "error: No rejected signal was stored.\n");
    let rows = unchanged.json();
    for (row, code) in rows.iter().zip(["invalid-type", "placeholder-identifier"]) {
        assert_eq!(row["outcome"], "rejected");
        assert_eq!(row["errors"][0]["code"], code);
    }
    assert_eq!(rows.len(), 2);
    let rows = redrive(&operator, &["--from", "unchanged"]).stdout;
    assert!(
        rows.contains("  signals[0].data must be an object or null"),
        "{rows}"
    );
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 2);
}

#[tokio::test]
async fn signal_is_redriven_by_the_rules_of_this_version_whatever_it_was_rejected_for() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    let body = json!({"requestIdentifier": REQUEST, "signals": [
        {"customerId": "ada", "eventType": "buy", "data": 7},
        {"customerId": "(null)", "eventType": "buy"},
        {"customerId": "ada", "eventType": "\u{200b}", "data": 7},
    ]});
    let request = RequestBuilder::signals(&body).key(&key);
    let response = app.send(request.received_at(hours_ago(1))).await;
    assert_eq!(response.status, 400);
    // The first one becomes what another version kept: its customer was no error then.
    let kept = app.items("RejectedSignalsTable").await;
    let is_first = |item: &Item| item["index"].as_n().unwrap() == "0";
    let mut kept = kept.into_iter().find(is_first).unwrap();
    let payload = r#"{"customerId":"<nil>","eventType":"buy","data":7}"#;
    kept.insert("payload".to_owned(), AttributeValue::S(payload.to_owned()));
    let subject = AttributeValue::S("<nil>".to_owned());
    kept.insert("subjectId".to_owned(), subject);
    let put = app
        .client
        .put_item()
        .table_name(table_name("RejectedSignalsTable"))
        .set_item(Some(kept));
    put.send().await.unwrap();

    let listed = run_list(&operator, &["--since", "1d", "--json"]).stdout;
    let edited = listed.replace("\"data\":7", "\"data\":{}");
    assert_ne!(edited, listed);
    operator.file("edited", &edited);
    let rows = redrive(&operator, &["--from", "edited", "--json"]).json();
    let codes: Vec<_> = rows.iter().map(|row| &row["errors"][0]["code"]).collect();
    let placeholder = "placeholder-identifier";
    assert_eq!(codes, [placeholder, placeholder, "blank"], "{rows:?}");
    assert_eq!(app.items("SignalsTable").await, []);
}

#[tokio::test]
async fn edited_rejected_signals_are_redriven_and_deleted() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let received_at = hours_ago(1);
    send(&app, received_at).await;
    write_lists(&operator);

    let dry = redrive(&operator, &["--from", "edited", "--dry-run"]).success();
    assert_eq!(
        dry.stdout,
        "2 would be accepted, 0 still rejected, 0 would already be expired, 0 missing.\n"
    );
    assert_eq!(app.items("SignalsTable").await.len(), 1);

    let redriven = redrive(&operator, &["--from", "edited"]).success();
    assert_eq!(redriven.stdout, BOTH_ACCEPTED);
    assert_eq!(app.items("RejectedSignalsTable").await, []);
    let history = app.history("shop", "ada").await;
    let keys: Vec<_> = history
        .iter()
        .map(|signal| signal["sk"].as_s().unwrap().clone())
        .collect();
    let key = |index| format!("{received_at}#{}#{index:04}", REQUEST.to_lowercase());
    assert_eq!(keys, [key(0), key(1)]);
    let received_at = AttributeValue::S(received_at.to_string());
    for signal in &history {
        assert_eq!(signal["receivedAt"], received_at);
    }
    let bob = app.history("shop", "bob").await;
    assert_eq!(bob[0]["sk"].as_s().unwrap(), &key(2));
    assert_eq!(
        bob[0]["data"].as_m().unwrap()["price"].as_n().unwrap(),
        "123456789012345678901234567890"
    );
    assert_eq!(bob[0]["requestIdentifier"].as_s().unwrap(), REQUEST);
}

#[tokio::test]
async fn redrive_that_is_run_again_finds_what_it_stored_and_nothing_else() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    write_lists(&operator);
    let first = redrive(&operator, &["--from", "edited"]).success();
    assert_eq!(first.stdout, BOTH_ACCEPTED);

    // The operator does this after a run that was killed.
    let again = redrive(&operator, &["--from", "edited"]).success();
    assert_eq!(again.stdout, BOTH_ACCEPTED);
    let never_rejected = operator
        .read("edited")
        .replace("#0000#", "#0001#")
        .replace("#0002#", "#0003#");
    operator.file("never-rejected", &never_rejected);
    let unknown = redrive(&operator, &["--from", "never-rejected"]);
    assert_eq!(unknown.code, Some(1));
    // A signal of the same request that was valid at first is none of them.
    let counts = "0 accepted, 0 still rejected, 0 would already be expired, 2 missing.\n";
    assert!(unknown.stdout.ends_with(counts), "{}", unknown.stdout);
}

#[tokio::test]
async fn redrive_with_another_payload_than_before_is_missing_and_changes_nothing() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    write_lists(&operator);
    let edited = operator
        .read("edited")
        .replace(r#""n":7"#, r#""n":1e2,"at":null"#);
    operator.file("first", &edited);
    redrive(&operator, &["--from", "first"]).success();
    let stored = app.items("SignalsTable").await;

    // DynamoDB writes the number in another way.
    let again = redrive(&operator, &["--from", "first"]).success();
    assert_eq!(again.stdout, BOTH_ACCEPTED);
    let others = [
        edited.replace("1e2", "1e3"),
        edited.replace(r#""at":null"#, r#""at":null,"more":1"#),
        edited.replace("\"buy\"", "\"sell\""),
        edited.replace(r#""n":1e2"#, r#""n":1e2},"later":{"n":1"#),
    ];
    for other in others {
        operator.file("other", &other);
        let redriven = redrive(&operator, &["--from", "other", "--json"]);
        assert_eq!(redriven.code, Some(1), "{other}");
        assert_eq!(redriven.json()[0]["outcome"], "missing", "{other}");
    }
    assert_eq!(app.items("SignalsTable").await, stored);
}

#[tokio::test]
async fn redrive_without_a_reader_redrives_every_signal() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    write_lists(&operator);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let redrive = [
        "rejected",
        "redrive",
        "--account",
        "shop",
        "--from",
        "edited",
        "--json",
    ];
    let status = operator.command(&redrive).stdout(writer).status().unwrap();
    assert!(status.success());
    assert_eq!(app.items("RejectedSignalsTable").await, []);
}

/// Changes the kept signal with this id so that it is valid, as it would be after a change of the
/// rules.
async fn make_kept_signal_valid(app: &TestApp, id: &str) {
    let items = app.items("RejectedSignalsTable").await;
    let mut item = items
        .into_iter()
        .find(|item| id.ends_with(item["sk"].as_s().unwrap()))
        .unwrap();
    let payload = item["payload"].as_s().unwrap();
    let valid = payload.replace("\"data\":7", "\"data\":{}");
    item.insert("payload".into(), AttributeValue::S(valid));
    let put = app
        .client
        .put_item()
        .table_name(table_name("RejectedSignalsTable"))
        .set_item(Some(item));
    put.send().await.unwrap();
}

#[tokio::test]
async fn rejected_signals_are_redriven_as_sent_by_id_or_all() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    let id = list(&operator)[0]["id"].as_str().unwrap().to_owned();
    let table = run_list(&operator, &["--since", "1d"]).stdout;
    let first_row = table.lines().nth(1).unwrap();
    let short_id = first_row.split_whitespace().nth(2).unwrap();
    assert!(short_id.ends_with("-0"), "{short_id}");
    make_kept_signal_valid(&app, &id).await;

    let unknown_id = format!("{short_id}1");
    let none = redrive(&operator, &["--since", "1d", &unknown_id]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr
            .ends_with("error: 1 of the rejected signals are missing.\n"),
        "{}",
        none.stderr
    );
    for id in [&id, short_id] {
        let rows = redrive(&operator, &["--since", "1d", id, "--dry-run", "--json"])
            .success()
            .json();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["outcome"], "accepted");
    }
    let counts = "1 accepted, 1 still rejected, 0 would already be expired, 0 missing.\n";
    assert!(redrive(&operator, &[]).success().stdout.ends_with(counts));
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 1);
}

#[tokio::test]
async fn signal_that_would_already_be_expired_is_not_redriven() {
    let app = TestApp::start();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "1");
    send(&app, hours_ago(25)).await;
    write_lists_of(&operator, &["--json"]);
    for dry_run in [&["--dry-run"][..], &[]] {
        let run = redrive(
            &operator,
            &[&["--from", "edited", "--json"], dry_run].concat(),
        );
        let rows = run.json();
        assert_eq!(run.code, Some(1), "{run:?}");
        let outcomes: Vec<_> = rows.iter().map(|row| &row["outcome"]).collect();
        assert_eq!(outcomes, ["expired", "expired"]);
    }
    assert_eq!(app.items("SignalsTable").await.len(), 1);
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 2);

    let two_days = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "2");
    two_days.file("edited", &operator.read("edited"));
    let redriven = redrive(&two_days, &["--from", "edited"]).success();
    assert_eq!(redriven.stdout, BOTH_ACCEPTED);
}

#[tokio::test]
async fn redrive_of_an_invalid_file_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    send(&app, hours_ago(1)).await;
    let assert_error = |text: &str, message: &str| {
        operator.file("f", text);
        let error = redrive(&operator, &["--from", "f"]).error_message();
        assert!(error.starts_with(message), "{error}");
    };
    let no_such_line = "Line 1 of f is not a line of `rejected list --json`";
    assert_error("{}\n", no_such_line);
    assert_error(r#"{"id":"x","payload":{}}"#, no_such_line);
    let line = list(&operator)[0].to_string();
    let repeated = "Line 3 of f repeats the id of an earlier line";
    assert_error(&format!("{line}\n\n{line}\n"), repeated);
    let missing = redrive(&operator, &["--from", "none"]).error_message();
    assert!(missing.starts_with("Cannot read none:"), "{missing}");
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 2);
}

#[tokio::test]
async fn truncated_payload_that_is_redriven_as_sent_stays_rejected() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    let data = json!({"text": "x".repeat(500_000)});
    let signal = json!({"customerId": "", "eventType": "t", "data": data});
    send_rejected(&app, &key, json!([signal])).await;
    assert_eq!(list(&operator)[0]["truncated"], true);

    let redriven = redrive(&operator, &["--since", "1d", "--json"]);
    assert_eq!(redriven.code, Some(1));
    let rows = redriven.json();
    assert_eq!(rows[0]["outcome"], "rejected");
    assert_eq!(
        rows[0]["errors"][0]["message"],
        "signals[0] was truncated: redrive it from a file."
    );
    assert_eq!(app.items("RejectedSignalsTable").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn redriven_signal_that_dynamodb_refuses_stays_rejected() {
    let app = TestApp::start();
    let OperatorBehindProxy {
        operator,
        proxy: _proxy,
    } = operator_with_refused_value(&app).await;
    send(&app, hours_ago(1)).await;
    let edited = run_list(&operator, &["--since", "1d", "--json"])
        .stdout
        .replace("\"data\":7", "\"data\":{\"x\":\"an-invalid-value\"}")
        .replace("undefined", "bob");
    operator.file("edited", &edited);

    let redriven = redrive(&operator, &["--from", "edited", "--json"]).success();
    let rows = redriven.json();
    let outcomes: Vec<_> = rows.iter().map(|row| &row["outcome"]).collect();
    assert_eq!(outcomes, ["rejected", "accepted"]);
    let kept = list(&operator);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["id"], rows[0]["id"]);
}
