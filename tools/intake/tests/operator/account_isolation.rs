//! No command reads or changes the data of another account. What erasures leave is in the tests of
//! each.

use model::timestamp::Timestamp;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

/// Customers whose names look like parts of keys.
const SUBJECT_IDS: [&str; 4] = ["c", "c#2026-11-20", "#", "shop#c"];

async fn fill(app: &TestApp, account: &str) {
    let key = app.key(account).await;
    for subject_id in SUBJECT_IDS {
        let customer = json!({"customerId": subject_id, "customerData": {"city": account, "email": "c@example.com"}});
        assert_eq!(
            app.send(RequestBuilder::customer(customer).key(&key))
                .await
                .status,
            200
        );
        let signals = json!({"signals": [
            {"customerId": subject_id, "eventType": account},
            {"customerId": subject_id, "eventType": ""},
        ]});
        assert_eq!(
            app.send(
                RequestBuilder::signals(signals)
                    .key(&key)
                    .at(Timestamp::now())
            )
            .await
            .status,
            200
        );
    }
}

#[tokio::test]
async fn commands_see_only_data_of_the_given_account() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let accounts = ["shop", "shop-2", "sho"];
    for account in accounts {
        fill(&app, account).await;
    }
    for account in accounts {
        for subject_id in SUBJECT_IDS {
            let shown = operator
                .run(&[
                    "customers",
                    "show",
                    "--account",
                    account,
                    "--json",
                    subject_id,
                ])
                .success()
                .json();
            assert_eq!(shown[0]["city"], account);
            let listed = operator
                .run(&[
                    "signals",
                    "list",
                    "--account",
                    account,
                    "--json",
                    subject_id,
                ])
                .success()
                .json();
            assert_eq!(
                listed
                    .iter()
                    .map(|signal| &signal["eventType"])
                    .collect::<Vec<_>>(),
                [account]
            );
        }
        let found = operator
            .run(&[
                "customers",
                "find",
                "--account",
                account,
                "--email",
                "c@example.com",
                "--json",
            ])
            .success();
        let cities: Vec<_> = found
            .json()
            .iter()
            .map(|customer| customer["city"].clone())
            .collect();
        assert_eq!(cities, [account; SUBJECT_IDS.len()]);
        let rejected = [
            "rejected",
            "list",
            "--account",
            account,
            "--since",
            "1h",
            "--json",
        ];
        let rejected = operator.run(&rejected).success().json();
        assert_eq!(rejected.len(), SUBJECT_IDS.len());
    }
    let exported = operator
        .run(&["customers", "export", "--account", "shop", "--json", "c"])
        .success()
        .json();
    let counts =
        ["signals", "rejectedSignals"].map(|name| exported[0][name].as_array().unwrap().len());
    assert_eq!(
        (counts, &exported[0]["profile"]["city"]),
        ([1, 1], &json!("shop"))
    );
}

#[tokio::test]
async fn commands_with_another_account_find_and_change_nothing() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    fill(&app, "shop").await;
    let before = (
        app.items("CustomersTable").await.len(),
        app.items("SignalsTable").await.len(),
    );
    let list = operator
        .run(&[
            "rejected",
            "list",
            "--account",
            "shop",
            "--since",
            "1h",
            "--json",
        ])
        .success();
    operator.file(
        "rejects",
        &list
            .stdout
            .replace("\"eventType\":\"\"", "\"eventType\":\"t\""),
    );

    let wrong = |command: &[&str]| operator.run(&[command, &["--account", "other"]].concat());
    assert!(
        wrong(&["customers", "show", "c"])
            .error_message()
            .contains("no customer")
    );
    assert_eq!(
        wrong(&["customers", "find", "--email", "c@example.com"])
            .success()
            .stdout,
        ""
    );
    let exported = wrong(&["customers", "export", "c"]).error_message();
    assert_eq!(exported, "Nothing is stored of \"c\" in the account other.");
    assert!(
        wrong(&["customers", "erase", "c", "--yes"])
            .success()
            .stderr
            .contains("Nothing is stored")
    );
    assert_eq!(wrong(&["signals", "list", "c"]).success().stdout, "");
    assert_eq!(
        wrong(&["rejected", "list", "--since", "1h"])
            .success()
            .stdout,
        ""
    );
    assert_eq!(
        wrong(&["rejected", "redrive", "--from", "rejects"]).code,
        Some(1)
    );
    assert_eq!(wrong(&["keys", "list"]).success().stdout, "");

    assert_eq!(
        (
            app.items("CustomersTable").await.len(),
            app.items("SignalsTable").await.len()
        ),
        before
    );
    assert_eq!(
        app.items("RejectedSignalsTable").await.len(),
        SUBJECT_IDS.len()
    );
}

#[test]
fn commands_with_an_invalid_account_name_fail() {
    let operator = Operator::with_nothing();
    for command in [
        &["keys", "create", "--name", "n"][..],
        &["keys", "list"],
        &["customers", "show", "c"],
        &["signals", "list", "c"],
        &["rejected", "list"],
        &["import", "file"],
    ] {
        let invalid = operator.run(&[command, &["--account", "shop#c"]].concat());
        assert_eq!(
            (invalid.code, invalid.stdout.as_str()),
            (Some(2), ""),
            "{command:?}"
        );
        assert!(
            invalid.stderr.contains("account name"),
            "{}",
            invalid.stderr
        );
    }
}
