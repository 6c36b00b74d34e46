//! `contracts infer` writes event contracts, and `contracts check` judges stored signals by them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

use crate::support::operator::{CommandOutput, Operator, install};

async fn store(app: &TestApp, account: &str, data: &[Value]) {
    let signal = |data: &Value| json!({"customerId": "c", "eventType": "purchase", "data": data});
    let signals = json!({"signals": data.iter().map(signal).collect::<Vec<_>>()});
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
    testkit::build(&["contracts"]).unwrap();
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
            .contains("2 signals keep their contract, 0 break it, 0 have a type without one."),
        "{}",
        held.stderr
    );
}

#[tokio::test]
async fn signal_that_breaks_its_contract_is_printed_with_its_key() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let signals = [json!({"price": 3}), json!({"price": "secret"})];
    store(&app, "shop", &signals).await;
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let contract = r#"{"properties": {"price": {"type": "number"}}}"#;
    fs::write(folder.path().join("purchase.json"), contract).unwrap();

    let broken = check(&operator, contracts, &[]);
    assert_eq!(broken.code, Some(1), "{}", broken.stderr);
    assert!(
        broken.stderr.contains("\n2 signals of shop read.\n"),
        "{}",
        broken.stderr
    );
    let report: Value = serde_json::from_str(&broken.stdout).unwrap();
    let signal = report["signal"].as_str().unwrap();
    assert!(signal.starts_with("shop#c 20"), "{report}");
    assert_eq!(report["type"], "purchase");
    assert_eq!(
        report["breaks"],
        json!([{"pointer": "/price", "message": "value is not of type \"number\""}])
    );
    let recent = check(&operator, contracts, &["--since", "2100-01-01"]).success();
    assert!(
        recent.stderr.contains("0 signals of shop read."),
        "{}",
        recent.stderr
    );
}

#[tokio::test]
async fn check_of_an_account_without_signals_fails_unless_it_has_a_key() {
    testkit::build(&["contracts"]).unwrap();
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
async fn types_that_differ_only_in_case_have_contracts_of_their_own() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let signals = json!({"signals": [
        {"customerId": "c", "eventType": "login", "data": {"a": 1}},
        {"customerId": "c", "eventType": "Login", "data": {"b": 1}},
    ]});
    let key = app.key("shop").await;
    let call = RequestBuilder::signals(signals).key(&key);
    assert_eq!(app.send(call).await.status, 200);
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let inferred = operator.run(&infer_into(contracts)).success();
    assert_eq!(
        inferred.stdout,
        format!(
            "{contracts}/%4Cogin.json: \"Login\", from 1 signal\n{contracts}/login.json: \"login\", from 1 signal\n"
        )
    );
    let held = check(&operator, contracts, &[]).success();
    assert!(
        held.stderr
            .contains("2 signals keep their contract, 0 break it, 0 have a type without one."),
        "{held:?}"
    );
}

#[tokio::test]
async fn numbers_are_judged_with_every_digit() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let maximum = r#"{"properties": {"price": {"maximum": 9007199254740992}}}"#;
    fs::write(folder.path().join("purchase.json"), maximum).unwrap();
    store(&app, "shop", &[json!({"price": 9_007_199_254_740_992_u64})]).await;
    check(&operator, contracts, &[]).success();
    // As a float, this price would be the maximum itself.
    store(&app, "shop", &[json!({"price": 9_007_199_254_740_993_u64})]).await;
    let broken = check(&operator, contracts, &[]);
    assert_eq!(broken.code, Some(1), "{}", broken.stderr);
    assert_eq!(broken.stdout.lines().count(), 1, "{}", broken.stdout);
}

#[tokio::test]
async fn contract_that_is_no_json_schema_is_an_error() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("refund.json"), "{").unwrap();
    let unusable = check(&operator, folder.path().to_str().unwrap(), &[]);
    assert_eq!(unusable.code, Some(1), "{unusable:?}");
    assert!(
        unusable.stderr.contains("refund.json is not a JSON Schema"),
        "{}",
        unusable.stderr
    );
}

#[tokio::test]
async fn all_signals_are_judged_and_a_folder_without_contracts_is_an_error() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let data: Vec<_> = (0..400).map(|number| json!({"number": number})).collect();
    for batch in data.chunks(100) {
        store(&app, "shop", batch).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let empty = check(&operator, contracts, &[]).error_message();
    assert_eq!(empty, "the contracts cannot be used: see above.");

    fs::write(folder.path().join("purchase.json"), "false").unwrap();
    let checked = check(&operator, contracts, &[]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert_eq!(checked.stdout.lines().count(), 400);
}

#[tokio::test]
async fn installed_program_finds_contracts_beside_it_or_says_how_to_install_it() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::new(&app);
    store(&app, "shop", &[json!({"price": 1})]).await;
    let installed = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_intake"));
    let own = install(program, installed.path());
    let infer = infer_into("contracts");

    let missing = operator.run_as(&own, &infer).error_message();
    assert!(
        missing.contains("`cargo install --locked --path tools/contracts` installs it"),
        "{missing}"
    );
    install(&program.with_file_name("contracts"), installed.path());
    let inferred = operator.run_as(&own, &infer).success();
    assert_eq!(
        inferred.stdout,
        "contracts/purchase.json: \"purchase\", from 1 signal\n"
    );
}
