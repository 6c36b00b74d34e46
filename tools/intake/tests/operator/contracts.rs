//! `contracts infer` and `contracts check`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

async fn store(app: &TestApp, account: &str, data: &[Value]) {
    let signal = |data: &Value| json!({"customerId": "c", "eventType": "purchase", "data": data});
    let signals = json!({"signals": data.iter().map(signal).collect::<Vec<_>>()});
    let key = app.key(account).await;
    assert_eq!(
        app.send(RequestBuilder::signals(signals).key(&key))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn contracts_of_stored_signals_hold_until_a_signal_breaks_one() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::of(&app);
    store(
        &app,
        "shop",
        &[json!({"price": 12.5, "sku": "secret"}), json!({"price": 3})],
    )
    .await;
    store(&app, "other", &[json!({"price": "3"})]).await;
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let infer = [
        "contracts",
        "infer",
        "--account",
        "shop",
        "--out",
        contracts,
    ];
    let inferred = operator.run(&infer).success();
    assert!(
        inferred
            .stdout
            .ends_with("purchase.json: \"purchase\", from 2 signals\n"),
        "{}",
        inferred.stdout
    );
    let written = fs::read_to_string(folder.path().join("purchase.json")).unwrap();
    assert!(
        written.contains("\"price\"") && !written.contains("secret"),
        "{written}"
    );
    let again = operator.run(&infer);
    assert!(
        again.code == Some(1) && again.stderr.contains("is there already"),
        "{}",
        again.stderr
    );

    let check = |more: &[&str]| {
        operator.run(
            &[
                &["contracts", "check", "--account", "shop", contracts],
                more,
            ]
            .concat(),
        )
    };
    let held = check(&[]).success();
    assert!(
        held.stderr
            .contains("2 signals keep their contract, 0 break it, 0 have a type without one."),
        "{}",
        held.stderr
    );
    store(&app, "shop", &[json!({"price": "secret"})]).await;
    let broken = check(&[]);
    assert_eq!(broken.code, Some(1), "{}", broken.stderr);
    let report: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert!(
        report["signal"].as_str().unwrap().starts_with("shop#c 20"),
        "{report}"
    );
    assert_eq!(
        (&report["type"], &report["breaks"]),
        (
            &json!("purchase"),
            &json!([{"pointer": "/price", "message": "value is not of type \"number\""}])
        )
    );
    // With every digit: a float would be the maximum itself.
    fs::write(
        folder.path().join("purchase.json"),
        r#"{"properties": {"price": {"maximum": 9007199254740992}}}"#,
    )
    .unwrap();
    check(&[]).success();
    store(&app, "shop", &[json!({"price": 9_007_199_254_740_993_u64})]).await;
    assert_eq!(check(&[]).code, Some(1));
    assert!(
        check(&[]).stderr.contains("\n4 signals of shop read.\n"),
        "{}",
        check(&[]).stderr
    );
    let recent = check(&["--since", "2100-01-01"]).success();
    assert!(
        recent.stderr.contains("0 signals of shop read."),
        "{}",
        recent.stderr
    );
    fs::write(folder.path().join("refund.json"), "{").unwrap();
    let unusable = check(&[]);
    assert!(
        unusable.code == Some(1) && unusable.stderr.contains("refund.json is not a JSON Schema"),
        "{}",
        unusable.stderr
    );
}

#[tokio::test]
async fn all_signals_are_judged_and_a_folder_without_contracts_is_an_error() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let data: Vec<_> = (0..400).map(|number| json!({"number": number})).collect();
    for batch in data.chunks(100) {
        store(&app, "shop", batch).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let contracts = folder.path().to_str().unwrap();
    let arguments = ["contracts", "check", "--account", "shop", contracts];
    let empty = operator.run(&arguments).error_message();
    assert_eq!(empty, "the contracts cannot be used: see above.");

    fs::write(folder.path().join("purchase.json"), "false").unwrap();
    let checked = operator.run(&arguments);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert_eq!(checked.stdout.lines().count(), 400);
}

#[tokio::test]
async fn installed_program_finds_contracts_beside_it_or_says_how_to_install_it() {
    testkit::build(&["contracts"]).unwrap();
    let app = TestApp::start();
    let operator = Operator::of(&app);
    store(&app, "shop", &[json!({"price": 1})]).await;
    let installed = tempfile::tempdir().unwrap();
    let own = installed.path().join("intake");
    fs::copy(env!("CARGO_BIN_EXE_intake"), &own).unwrap();
    let infer = [
        "contracts",
        "infer",
        "--account",
        "shop",
        "--out",
        "contracts",
    ];

    let missing = operator.run_as(&own, &infer).error_message();
    assert!(
        missing.contains("`cargo install --locked --path tools/contracts` installs it"),
        "{missing}"
    );
    let built = Path::new(env!("CARGO_BIN_EXE_intake")).with_file_name("contracts");
    fs::copy(built, installed.path().join("contracts")).unwrap();
    let inferred = operator.run_as(&own, &infer).success();
    assert_eq!(
        inferred.stdout,
        "contracts/purchase.json: \"purchase\", from 1 signal\n"
    );
}
