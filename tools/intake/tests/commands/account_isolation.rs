//! No command reads or changes the data of another account. The tests of each erasure say what it
//! leaves.

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::operator::Operator;

/// Customers whose names look like parts of keys.
const SUBJECT_IDS: [&str; 4] = ["c", "c#2026-11-20", "#", "shop#c"];

async fn fill(app: &TestApp, account: &str) {
    let key = app.key(account).await;
    for subject_id in SUBJECT_IDS {
        let customer = json!({"customerId": subject_id, "customerData": {"city": account, "email": "c@example.com"}});
        let call = RequestBuilder::customer(customer).key(&key);
        assert_eq!(app.send(call).await.status, 200);
        let signals = json!({"signals": [
            {"customerId": subject_id, "eventType": account},
            {"customerId": subject_id, "eventType": ""},
        ]});
        let call = RequestBuilder::signals(signals);
        let response = app.send(call.key(&key).received_at(Timestamp::now())).await;
        assert_eq!(response.status, 200);
    }
}

#[tokio::test]
async fn commands_see_only_data_of_the_given_account() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    for account in ["shop", "shop-2", "sho"] {
        fill(&app, account).await;
    }
    let run = |command: &[&str]| {
        let arguments = [command, &["--account", "shop", "--json"]].concat();
        operator.run(&arguments).success().json()
    };
    for subject_id in SUBJECT_IDS {
        let shown = run(&["customers", "show", subject_id]);
        assert_eq!(shown[0]["city"], "shop");
        let listed = run(&["signals", "list", subject_id]);
        let event_types: Vec<_> = listed.iter().map(|signal| &signal["eventType"]).collect();
        assert_eq!(event_types, ["shop"]);
    }
    let found = run(&["customers", "find", "--email", "c@example.com"]);
    let cities: Vec<_> = found.iter().map(|customer| &customer["city"]).collect();
    assert_eq!(cities, ["shop"; SUBJECT_IDS.len()]);
    let rejected = run(&["rejected", "list", "--since", "1h"]);
    assert_eq!(rejected.len(), SUBJECT_IDS.len());
    let exported = operator
        .run(&["customers", "export", "--account", "shop", "--json", "c"])
        .success()
        .json();
    assert_eq!(exported[0]["profile"]["city"], "shop");
    for list in ["signals", "rejectedSignals"] {
        assert_eq!(exported[0][list].as_array().unwrap().len(), 1, "{list}");
    }
}

#[tokio::test]
async fn redrive_changes_nothing_of_another_account() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    fill(&app, "shop").await;
    let signals = app.items("SignalsTable").await.len();
    let list = ["rejected", "list", "--account", "shop", "--since", "1d"];
    let rejected = operator.run(&[&list[..], &["--json"]].concat());
    let rejected = rejected.success().stdout;
    let edited = rejected.replace("\"eventType\":\"\"", "\"eventType\":\"t\"");
    operator.file("rejects", &edited);
    let of_other = |command: &[&str]| operator.run(&[command, &["--account", "other"]].concat());

    let redriven = of_other(&["rejected", "redrive", "--from", "rejects"]);
    assert_eq!(redriven.code, Some(1), "{redriven:?}");

    assert_eq!(app.items("SignalsTable").await.len(), signals);
    assert_eq!(
        app.items("RejectedSignalsTable").await.len(),
        SUBJECT_IDS.len()
    );
}

#[test]
fn command_with_an_invalid_account_name_fails() {
    let operator = Operator::with_nothing();
    let invalid = operator.run(&["keys", "list", "--account", "shop#c"]);
    assert_eq!(invalid.code, Some(2), "{invalid:?}");
    assert_eq!(invalid.stdout, "", "{invalid:?}");
    assert!(invalid.stderr.contains("account name"), "{invalid:?}");
}
