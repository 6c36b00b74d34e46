//! How many calls to DynamoDB a command makes: one for each page that it needs, and no more with each
//! look of `--follow`. Items arrive in any number of calls, so that no other test notices a page that is
//! too small or a read that begins too early.

use harness::fault_proxy::{Fault, Plan};
use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};
use store::rejected_signals::SHARDS;

use crate::signals::FOLLOW;
use crate::support::clock::hours_ago;
use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy};
use crate::support::requests::{send, send_at};
use crate::support::running_command::RunningCommand;

/// A whole table is read in so many segments.
const SEGMENTS: u64 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn command_makes_one_call_for_each_page_that_it_needs() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let signals: Vec<Value> = (0..60)
        .map(|_| json!({"customerId": "c", "eventType": "t"}))
        .collect();
    send_at(&app, &key, Timestamp::now(), json!(signals)).await;
    for number in 0..60 {
        let data = json!({"email": format!("{number}@example.com")});
        let customer = json!({"customerId": number.to_string(), "customerData": data});
        send(&app, &key, RequestBuilder::customer(customer)).await;
    }
    let one_query: &[_] = &[("Query", 1)];
    for (arguments, calls) in [
        ("signals list --account shop c", one_query),
        ("signals list --account shop c --limit 3", one_query),
        ("signals list --account shop c --all", one_query),
        ("customers show --account shop 7", &[("GetItem", 1)]),
        ("keys list", &[("Scan", SEGMENTS)]),
        // What a scan has found, it may have found before a change.
        (
            "customers find --account shop --email 7@example.com",
            &[("GetItem", 1), ("Scan", SEGMENTS)],
        ),
    ] {
        let OperatorBehindProxy { operator, proxy } =
            operator_behind_proxy(&app, Plan::none()).await;
        let words: Vec<_> = arguments.split(' ').collect();
        operator.run(&words).success();
        let counts = proxy.counts().operations;
        let counts: Vec<_> = counts
            .iter()
            .map(|(operation, calls)| (operation.as_str(), *calls))
            .collect();
        assert_eq!(counts, calls, "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redrive_of_one_id_reads_only_the_day_of_the_id() {
    let app = TestApp::start();
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, Plan::none()).await;
    let id = format!("{}-07-7ace3111-3", Timestamp::now().day());
    let missing = operator.run(&["rejected", "redrive", "--account", "shop", &id]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let counts = proxy.counts().operations;
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(counts, [("Query".to_owned(), u64::from(SHARDS))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_reads_no_old_signals_again() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let text = "x".repeat(250_000);
    let event = |event_type: &str| json!([{"customerId": "c", "eventType": event_type, "data": {"text": text}}]);
    // More than DynamoDB puts into a page.
    for hours in 1..=5 {
        send_at(&app, &key, hours_ago(hours), event("old")).await;
    }
    let second_page = Fault::InternalServerError.where_body_has("ExclusiveStartKey");
    let OperatorBehindProxy { operator, proxy } = operator_behind_proxy(&app, second_page).await;
    let follow = RunningCommand::start(&operator, &FOLLOW);
    assert!(follow.note().starts_with("Waiting for signals"));
    for event_type in ["first", "second"] {
        send_at(&app, &key, Timestamp::now(), event(event_type)).await;
        assert_eq!(follow.json()["eventType"], event_type);
    }
    assert_eq!(proxy.counts().faulted, 0);
    assert_eq!(follow.interrupt().code, Some(0));
}
