//! `contracts infer` writes event contracts, and `contracts check` judges stored signals by them.

use std::fmt::Display;
use std::fs;

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::operator::{CommandOutput, Operator};

const REQUEST_IDENTIFIER: &str = "0B0C7A52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

async fn store(app: &TestApp, account: &str, data: &[Value]) {
    store_batch(app, account, batch(data)).await;
}

fn batch(data: &[Value]) -> Value {
    let signal = |data: &Value| json!({"customerId": "c", "eventType": "purchase", "data": data});
    json!({"signals": data.iter().map(signal).collect::<Vec<_>>()})
}

async fn store_batch(app: &TestApp, account: &str, signals: impl Display) {
    let key = app.key(account).await;
    let call = RequestBuilder::signals(signals).key(&key);
    assert_eq!(app.send(call).await.status, 200);
}

/// Writes the contracts of the signals that the account `shop` sent into this folder.
fn infer_into(folder: &str) -> [&str; 6] {
    ["contracts", "infer", "--account", "shop", "--out", folder]
}

/// Judges the signals of the account `shop` by the contracts in this folder.
fn check(operator: &Operator, folder: &str, more: &[&str]) -> CommandOutput {
    let arguments = [&["contracts", "check", "--account", "shop", folder], more].concat();
    operator.run(&arguments)
}

#[tokio::test]
async fn contracts_are_inferred_without_values_and_not_replaced() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let prices = [json!({"price": 12.5, "sku": "secret"}), json!({"price": 3})];
    store(&app, "shop", &prices).await;
    store(&app, "other", &[json!({"price": "3"})]).await;
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let infer = infer_into(contracts);
    let inferred = operator.run(&infer).success();
    assert!(
        inferred
            .stdout
            .ends_with("purchase.json: \"purchase\", from 2 signals\n"),
        "{}",
        inferred.stdout
    );
    let written = fs::read_to_string(folder.path().join("purchase.json")).unwrap();
    assert!(written.contains("\"price\""), "{written}");
    assert!(!written.contains("secret"), "{written}");
    let again = operator.run(&infer);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("is there already"), "{again:?}");

    let held = check(&operator, contracts, &[]).success();
    assert!(
        held.stderr
            .contains("2 signals match their contract, 0 break it, 0 have a type without one."),
        "{}",
        held.stderr
    );
}

#[tokio::test]
async fn signal_that_breaks_its_contract_is_printed_with_its_subject_request_and_index() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let mut signals = batch(&[json!({"price": 3}), json!({"price": "secret"})]);
    signals["requestIdentifier"] = json!(REQUEST_IDENTIFIER);
    store_batch(&app, "shop", signals).await;
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let contract = r#"{"properties": {"price": {"type": "number"}}}"#;
    fs::write(folder.path().join("purchase.json"), contract).unwrap();

    let broken = check(&operator, contracts, &[]);
    assert_eq!(broken.code, Some(1), "{}", broken.stderr);
    assert!(
        broken.stderr.starts_with("2 signals of shop read.\n"),
        "{}",
        broken.stderr
    );
    let report: Value = serde_json::from_str(&broken.stdout).unwrap();
    let expected = json!({
        "subject": "c",
        "type": "purchase",
        "requestIdentifier": REQUEST_IDENTIFIER,
        "index": 1,
        "receivedAt": report["receivedAt"],
        "breaks": [{"pointer": "/price", "message": "value is not of type \"number\""}],
    });
    assert_eq!(report, expected);
    let received_at: Result<Timestamp, _> = report["receivedAt"].as_str().unwrap().parse();
    assert!(received_at.is_ok(), "{report}");
    let recent = check(&operator, contracts, &["--since", "2100-01-01"]).success();
    assert!(
        recent.stderr.contains("0 signals of shop read."),
        "{}",
        recent.stderr
    );
}

#[tokio::test]
async fn check_of_an_account_without_signals_fails_unless_it_has_a_key() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    fs::write(folder.path().join("purchase.json"), "{}").unwrap();
    app.key("shopp").await;
    let unknown = check(&operator, contracts, &[]).error_message();
    assert_eq!(
        unknown,
        "The account shop has no key, and no signal of it was read."
    );
    app.key("shop").await;
    let known = check(&operator, contracts, &[]).success();
    assert!(
        known.stderr.contains("0 signals of shop read."),
        "{known:?}"
    );
}

#[tokio::test]
async fn all_signals_are_judged_and_a_folder_without_contracts_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let data: Vec<_> = (0..400).map(|number| json!({"number": number})).collect();
    for batch in data.chunks(100) {
        store(&app, "shop", batch).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let empty = check(&operator, contracts, &[]).error_message();
    assert_eq!(
        empty,
        format!("{contracts} has no contract: a file TYPE.json for each type.")
    );

    fs::write(folder.path().join("purchase.json"), "false").unwrap();
    let checked = check(&operator, contracts, &[]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert_eq!(checked.stdout.lines().count(), 400);
}
