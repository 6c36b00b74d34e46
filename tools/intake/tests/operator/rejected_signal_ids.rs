//! The short ids of rejected signals, which people type.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::{RequestBuilder, TestApp};

use crate::support::operator::Operator;

#[tokio::test]
async fn short_id_names_one_of_many_signals_whose_requests_have_similar_identifiers() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let key = app.key("shop").await;
    // More requests than shards, with identifiers of version 7.
    for n in 0..40 {
        let identifier = format!("01989d3a-{n:04x}-7000-8000-000000000001");
        let body = json!({"requestIdentifier": identifier, "signals": [{"customerId": ""}]});
        let response = app.send(RequestBuilder::signals(&body).key(&key)).await;
        assert_eq!(response.status, 400);
    }
    let list = ["rejected", "list", "--account", "shop"];
    let table = operator.run(&list).success().stdout;
    let rows = table.lines().skip(1);
    let ids: BTreeSet<_> = rows
        .map(|row| row.split_whitespace().nth(2).unwrap())
        .collect();
    assert_eq!(ids.len(), 40);
    let named = ids.first().unwrap();
    let redrive = ["rejected", "redrive", "--account", "shop", named];
    let redriven = operator.run(&[&redrive[..], &["--dry-run", "--json"]].concat());
    let redriven = redriven.json();
    assert_eq!(redriven.len(), 1, "{redriven:?}");
}
