//! `customers show`, `find` and `export` print what is stored of a customer.

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::operator::{CommandOutput, Operator};
use crate::support::requests::{send, send_rejected};

/// Characters that a terminal would obey, and one that it would not.
const OBEYED: &str = "\u{9b}2J\u{202e}\u{61c}é";

/// A stack with a customer that has a field named like a key, and characters that a terminal would
/// obey.
async fn app_with_customer() -> TestApp {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let data = format!(
        r#"{{"email":"ada@example.com","firstName":"{OBEYED}","sk":"own","visits":12345678901234567890123}}"#
    );
    let body = format!(r#"{{"customerId":"c#1","customerData":{data}}}"#);
    send(&app, &key, RequestBuilder::customer(body)).await;
    app
}

fn show(operator: &Operator, more: &[&str]) -> CommandOutput {
    let arguments = [&["customers", "show", "--account", "shop"], more].concat();
    operator.run(&arguments)
}

fn field_names(object: &Value) -> Vec<&str> {
    let fields = object.as_object().unwrap();
    fields.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn customer_is_shown_as_a_table_of_names_and_values() {
    let app = app_with_customer().await;
    let shown = show(&Operator::new(&app), &["c#1"]).success().stdout;
    let names: Vec<_> = shown
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "createdAt",
            "customerId",
            "email",
            "firstName",
            "sk",
            "updatedAt",
            "visits"
        ]
    );
    assert!(shown.contains(r"\u{9b}2J\u{202e}\u{61c}é"), "{shown}");
}

#[tokio::test]
async fn customer_is_shown_as_json_without_its_key_and_its_fences() {
    let app = app_with_customer().await;
    let shown = show(&Operator::new(&app), &["c#1", "--json"]).success();
    let text = &shown.stdout;
    assert!(
        text.contains(r#""visits":12345678901234567890123"#),
        "{text}"
    );
    assert!(text.contains(r#""\u009b2J\u202e\u061cé""#), "{text}");
    let customer = &shown.json()[0];
    assert_eq!(
        field_names(customer),
        [
            "accountId",
            "createdAt",
            "customerId",
            "email",
            "firstName",
            "sk",
            "updatedAt",
            "visits"
        ]
    );
    assert_eq!(customer["customerId"], "c#1");
    assert_eq!(customer["firstName"], OBEYED);
}

#[tokio::test]
async fn times_of_a_customer_are_shown_also_of_removed_fields() {
    let app = app_with_customer().await;
    let key = app.key("shop").await;
    let update = r#"{"customerId":"c#1","customerData":{"email":null,"visits":2}}"#;
    send(&app, &key, RequestBuilder::customer(update)).await;

    let operator = Operator::new(&app);
    let shown = show(&operator, &["c#1", "--times", "--json"]).success();
    let times = &shown.json()[0];
    assert_eq!(field_names(times), ["email", "firstName", "sk", "visits"]);
    assert_eq!(times["email"], times["visits"]);
    assert!(
        times["email"].as_str() > times["firstName"].as_str(),
        "{times}"
    );
    let shown = show(&operator, &["c#1", "--times"]).success().stdout;
    let first_name = times["firstName"].as_str().unwrap();
    assert!(shown.contains(first_name), "{shown}");
}

#[tokio::test]
async fn customer_that_does_not_exist_is_an_error() {
    let app = app_with_customer().await;
    let missing = show(&Operator::new(&app), &["c"]).error_message();
    assert_eq!(missing, "The account shop has no customer \"c\".");
}

/// An app with four customers, two of whom have the same email address.
async fn app_with_emails() -> TestApp {
    let app = TestApp::start();
    let key = app.key("shop").await;
    for (id, email) in [
        ("b", "ada@example.com"),
        ("a", "ada@example.com"),
        ("c", "Ada@example.com"),
        ("d", "ada@example"),
    ] {
        let data = json!({"email": email, "firstName": id.repeat(3), "lastName": "L"});
        let customer = json!({"customerId": id, "customerData": data});
        send(&app, &key, RequestBuilder::customer(customer)).await;
    }
    app
}

fn find(app: &TestApp, more: &[&str]) -> CommandOutput {
    let arguments = ["customers", "find", "--account", "shop", "--email"];
    let operator = Operator::new(app);
    operator.run(&[&arguments, more].concat()).success()
}

#[tokio::test]
async fn customers_are_found_by_their_email_in_any_case_and_form() {
    let app = app_with_emails().await;
    let found = find(&app, &[" ADA@example.com"]);
    let rows: Vec<Vec<_>> = found
        .stdout
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<_> = line.split_whitespace().collect();
            [&cells[..2], &cells[cells.len() - 2..]].concat()
        })
        .collect();
    assert_eq!(
        rows,
        [
            ["a", "aaa", "similar", "ada@example.com"],
            ["b", "bbb", "similar", "ada@example.com"],
            ["c", "ccc", "similar", "Ada@example.com"]
        ]
    );
    let none = find(&app, &["x@example.com"]);
    assert_eq!(none.stdout, "");
    assert!(
        none.stderr
            .ends_with("No customer of the account shop has this email address.\n"),
        "{}",
        none.stderr
    );
}

#[tokio::test]
async fn customer_is_found_as_json_without_its_key_and_its_fences() {
    let app = app_with_emails().await;
    let found = find(&app, &["Ada@example.com", "--json"]).json();
    let matches: Vec<_> = found
        .iter()
        .map(|customer| json!([customer["customerId"], customer["exactMatch"]]))
        .collect();
    assert_eq!(
        matches,
        [json!(["a", false]), json!(["b", false]), json!(["c", true])]
    );
    assert_eq!(
        field_names(&found[2]),
        [
            "accountId",
            "createdAt",
            "customerId",
            "email",
            "exactMatch",
            "firstName",
            "lastName",
            "updatedAt"
        ]
    );
}

/// Sends a profile, 300 signals of 10 KB (three pages of DynamoDB's 1 MB), and two rejected signals.
async fn send_long_history(app: &TestApp, key: &str) {
    let data = r#"{"email":"ada@example.com","visits":12345678901234567890123}"#;
    let customer = format!(r#"{{"customerId":"ada","customerData":{data}}}"#);
    send(app, key, RequestBuilder::customer(customer)).await;
    for batch in 0..3 {
        let signal = |n: u64| {
            let data = json!({"n": batch * 100 + n, "x": OBEYED.repeat(1_000)});
            json!({"customerId": "ada", "eventType": "t", "data": data})
        };
        let signals: Vec<_> = (0..100).map(signal).collect();
        let call =
            RequestBuilder::signals(json!({"signals": signals})).received_at(Timestamp::now());
        send(app, key, call).await;
    }
    let rejected = json!([
        {"customerId": "ada", "eventType": ""},
        {"customerId": "ada", "eventType": 7},
    ]);
    send_rejected(app, key, rejected).await;
}

#[tokio::test]
async fn export_has_the_profile_and_all_signals_and_rejected_signals() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    send_long_history(&app, &key).await;
    let export = ["customers", "export", "--account", "shop", "ada"];
    let summary = "Exported \"ada\" of the account shop: 1 profile(s), 300 signal(s), 2 rejected signal(s).\n";
    let written = operator.run(&export).success();
    assert_eq!(written.stderr, summary);
    let text = written.stdout;
    assert!(
        text.contains(r#""profile":{"accountId":"shop","createdAt":""#),
        "{text}"
    );
    assert!(!text.contains("\"fence\""), "{text}");
    assert!(
        text.contains(r#","visits":12345678901234567890123}"#),
        "{text}"
    );
    assert!(
        text.contains(r#""x":"\u009b2J\u202e\u061cé\u009b"#),
        "{text}"
    );
    assert!(!text.contains('\u{9b}'), "{text}");
    assert_eq!(text.lines().count(), 303);
    let document: Value = serde_json::from_str(&text).unwrap();
    let exported_at = document["exportedAt"].as_str().unwrap();
    assert!(exported_at.parse::<Timestamp>().is_ok(), "{exported_at}");
    let signals = document["signals"].as_array().unwrap();
    let numbers: Vec<_> = signals
        .iter()
        .map(|signal| signal["data"]["n"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
    let rejected = document["rejectedSignals"].as_array().unwrap();
    let mut payloads: Vec<_> = rejected
        .iter()
        .map(|signal| signal["payload"].as_str().unwrap())
        .collect();
    payloads.sort_unstable();
    assert_eq!(
        payloads,
        [
            r#"{"customerId":"ada","eventType":""}"#,
            r#"{"customerId":"ada","eventType":7}"#
        ]
    );

    let printed = operator.run(&[&export[..], &["--json"]].concat()).success();
    assert_eq!(printed.stderr, summary);
    let documents = printed.json();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0]["signals"], document["signals"]);
}
