//! Redrives of some signals: by the short ids that people type, and up to an error.

use std::collections::BTreeSet;

use harness::fault_proxy::Fault;
use harness::{RequestBuilder, TestApp};
use serde_json::json;

use crate::support::clock::hours_ago;
use crate::support::fault::{OperatorBehindProxy, operator_behind_proxy};
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
    let list = ["rejected", "list", "--account", "shop", "--since", "1d"];
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

#[tokio::test(flavor = "multi_thread")]
async fn redrive_that_stops_prints_what_it_has_done() {
    let app = TestApp::start();
    let refused = Fault::Refused("AccessDeniedException").where_body_has("refused-customer");
    let OperatorBehindProxy {
        operator,
        proxy: _proxy,
    } = operator_behind_proxy(&app, refused).await;
    let key = app.key("shop").await;
    for (id, hours) in [("ada", 2), ("refused-customer", 1)] {
        let body = json!({"signals": [{"customerId": id, "eventType": "t", "data": 7}]});
        let request = RequestBuilder::signals(&body).key(&key);
        let response = app.send(request.received_at(hours_ago(hours))).await;
        assert_eq!(response.status, 400);
    }
    let list = ["rejected", "list", "--account", "shop", "--since", "1d"];
    let listed = operator.run(&[&list[..], &["--json"]].concat());
    let listed = listed.success().stdout;
    operator.file("edited", &listed.replace("\"data\":7", "\"data\":{}"));
    let redrive = ["rejected", "redrive", "--account", "shop"];
    let redriven = operator.run(&[&redrive[..], &["--from", "edited"]].concat());
    assert_eq!(redriven.code, Some(1), "{redriven:?}");
    assert_eq!(
        redriven.stdout,
        "1 accepted, 0 still rejected, 0 would already be expired, 0 missing.\n"
    );
    assert!(
        redriven
            .stderr
            .contains("these credentials do not permit this"),
        "{redriven:?}"
    );
}
