//! `customers erase` deletes what is stored of a customer or an emitter, and nothing else.

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::operator::Operator;
use crate::support::requests::send;
use crate::support::running_command::RunningCommand;

const WAITING: &str =
    "Waiting 10 s: a request that a function received before may store something until then.";

/// Stores a profile, 60 signals and two rejected signals of each of three customers.
async fn store_three_customers(app: &TestApp) {
    // The second customer is named like a part of a key.
    for (account, customer_id) in [
        ("shop", "ada"),
        ("shop", "ada#2026-11-20"),
        ("shop-2", "ada"),
    ] {
        let key = app.key(account).await;
        let customer = json!({"customerId": customer_id, "customerData": {"city": "X"}});
        send(app, &key, RequestBuilder::customer(customer)).await;
        let mut signals = vec![json!({"customerId": customer_id, "eventType": "t"}); 60];
        signals.push(json!({"customerId": customer_id, "eventType": ""}));
        signals.push(json!({"customerId": customer_id, "eventType": "t", "emitterId": "both", "stepNodeId": "n"}));
        let batch = json!({"signals": signals});
        send(app, &key, RequestBuilder::signals(batch)).await;
    }
}

async fn count(app: &TestApp, table: &str) -> usize {
    app.items(table).await.len()
}

#[tokio::test]
async fn erasure_deletes_all_data_of_one_customer_only() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    store_three_customers(&app).await;
    let erase = ["customers", "erase", "--account", "shop", "ada"];
    let unconfirmed = operator.run(&erase).error_message();
    assert!(
        unconfirmed.contains("1 profile(s), 60 signal(s), 2 rejected signal(s)"),
        "{unconfirmed}"
    );
    assert!(app.customer("shop", "ada").await.is_some());

    let erasing = RunningCommand::start(&operator, &[&erase[..], &["--yes", "--json"]].concat());
    assert_eq!(
        erasing.note(),
        "Counting what is stored of \"ada\" in the account shop ..."
    );
    assert_eq!(erasing.note(), WAITING);
    // What a request stores until then is erased, too.
    let batch = json!({"signals": [{"customerId": "ada", "eventType": "late"}]});
    let key = app.key("shop").await;
    send(&app, &key, RequestBuilder::signals(batch)).await;
    let mut erased = erasing.json();
    let erased_at = erased.as_object_mut().unwrap().remove("erasedAt").unwrap();
    let erased_at = erased_at.as_str().unwrap();
    assert!(erased_at.parse::<Timestamp>().is_ok(), "{erased_at}");
    assert_eq!(
        erased,
        json!({
            "accountId": "shop", "id": "ada", "profiles": 1, "signals": 61, "rejectedSignals": 2, "doubtfulRejectedSignals": [],
        })
    );
    assert!(app.customer("shop", "ada").await.is_none());
    assert_eq!(app.history("shop", "ada").await, []);
    assert_eq!(count(&app, "CustomersTable").await, 2);
    assert_eq!(count(&app, "SignalsTable").await, 120);
    assert_eq!(count(&app, "RejectedSignalsTable").await, 4);
}

#[tokio::test]
async fn erasure_in_an_account_without_a_key_or_data_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    app.key("shop").await;
    let by_type = "signals erase --account shpo --type t --since 2d --until 1d --yes";
    for erase in ["customers erase --account shpo ada --yes", by_type] {
        let words: Vec<&str> = erase.split(' ').collect();
        assert_eq!(
            operator.run(&words).error_message(),
            "The account shpo has no key, and nothing of it was found."
        );
    }
    let by_type = by_type.replace("shpo", "shop") + " --dry-run";
    let with_key: Vec<&str> = by_type.split(' ').collect();
    operator.run(&with_key).success();
}

#[tokio::test]
async fn erasure_that_finds_nothing_waits_for_requests_that_are_on_their_way() {
    let app = TestApp::start();
    let operator = Operator::new(&app).of_local_stack();
    app.key("shop").await;
    let erase = ["customers", "erase", "--account", "shop", "bob", "--yes"];
    let erasing = RunningCommand::start(&operator, &erase);
    assert_eq!(
        erasing.note(),
        "Counting what is stored of \"bob\" in the account shop ..."
    );
    assert_eq!(
        erasing.note(),
        "Found nothing: what is stored of \"bob\" in the account shop."
    );
    assert_eq!(erasing.note(), WAITING);
    assert_eq!(erasing.interrupt().stdout, Vec::<String>::new());
}
