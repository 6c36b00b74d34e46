//! `import` stores what the other commands list as it was.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::days_ago;
use crate::support::fault::{OperatorBehindProxy, operator_with_refused_value};
use crate::support::operator::{Operator, json_lines};
use crate::support::requests::FLOW;

const REQUEST: &str = "6F1C0A52-7C1E-4A3E-9F0B-0D2F6F8A1B11";

/// The signals of `ada` and of `journey`, a line each.
fn list(operator: &Operator) -> String {
    let list = |id| {
        operator
            .run(&["signals", "list", "--account", "shop", id, "--json"])
            .success()
            .stdout
    };
    list("ada") + &list("journey")
}

/// The items of the signals table in the order of their keys.
async fn stored_signals(app: &TestApp) -> Vec<HashMap<String, AttributeValue>> {
    let mut items = app.items("SignalsTable").await;
    items.sort_by_key(|item| format!("{:?}{:?}", item["pk"], item["sk"]));
    items
}

fn import(operator: &Operator, file: &str) -> Value {
    operator
        .run(&[
            "import",
            "--account",
            "shop",
            file,
            "--json",
            "--keep-going",
        ])
        .success()
        .json()
        .remove(0)
}

/// Two requests, with equal signals, a workflow step, unknown fields and a number that no float
/// holds.
async fn send(app: &TestApp) {
    let key = app.key("shop").await;
    let event = json!({"customerId": "ada", "eventType": "buy", "data": {"list": [1, null, {"a": "é\"\n"}], "price": 12.5}});
    let unknown = r#"{"customerId":"ada","eventType":"look","data":{"n":123456789012345678901234567890},
        "receivedAt":"yesterday","index":7,"undocumented":{"index":8},"priority":[1]}"#;
    let step = json!({"emitterId": "journey", "stepNodeId": "start", "eventflowIdentifier": FLOW.to_uppercase()});
    let first = format!(
        r#"{{"requestIdentifier":"{REQUEST}","signals":[{event},{unknown},{{}},{event},{step}]}}"#
    );
    let second = json!({"signals": [event]}).to_string();
    for (body, received_at) in [(first, days_ago(2)), (second, days_ago(1))] {
        let sent = app
            .send(
                RequestBuilder::signals(body)
                    .key(&key)
                    .received_at(received_at),
            )
            .await;
        assert_eq!(sent.status, 200, "{sent:?}");
    }
}

#[tokio::test]
async fn listed_signals_are_the_same_in_another_stack() {
    let app = TestApp::start();
    let other = TestApp::start();
    send(&app).await;
    let listed = list(&Operator::new(&app));
    let signals = json_lines(&listed);
    let indices: Vec<_> = signals.iter().map(|signal| &signal["index"]).collect();
    assert_eq!(indices, [0, 1, 3, 0, 4]);

    let operator = Operator::new(&other);
    operator.file("listed", &listed);
    let summary = import(&operator, "listed");
    assert_eq!(summary["stored"], 5, "{summary}");
    assert_eq!(summary["rejected"], 0, "{summary}");
    assert_eq!(list(&operator), listed);
    assert_eq!(stored_signals(&other).await, stored_signals(&app).await);

    // A second import, of a file that has each line twice, changes nothing.
    operator.file("twice", &listed.repeat(2));
    let again = import(&operator, "twice");
    assert_eq!(again["stored"], 0, "{again}");
    assert_eq!(again["alreadyStored"], 0, "{again}");
    assert_eq!(again["replaced"], 10, "{again}");
    assert_eq!(stored_signals(&other).await, stored_signals(&app).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_with_the_key_of_a_refused_line_are_rejected_with_it() {
    let app = TestApp::start();
    let OperatorBehindProxy {
        operator,
        proxy: _proxy,
    } = operator_with_refused_value(&app).await;
    let line = |data: &str, index: usize| {
        let signal = json!({
            "customerId": "ada", "eventType": "buy", "data": {"x": data}, "receivedAt": "2026-11-20T22:16:40Z",
            "requestIdentifier": REQUEST, "index": index,
        });
        format!("{signal}\n")
    };
    let lines = [
        line("valid", 0),
        line("valid", 1),
        line("an-invalid-value", 0),
    ];
    operator.file("s", &lines.concat());
    let summary = import(&operator, "s");
    assert_eq!(summary["stored"], 1, "{summary}");
    assert_eq!(summary["rejected"], 2, "{summary}");
    let errors = json_lines(&operator.read("s.errors.ndjson"));
    let numbers: Vec<_> = errors.iter().map(|error| &error["line"]).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!(app.items("SignalsTable").await.len(), 1);
}

#[tokio::test]
async fn received_at_of_a_line_wins_over_the_option() {
    let app = TestApp::start();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "30");
    let own = days_ago(3);
    let expired = days_ago(31);
    let line = |received_at: Value| json!({"customerId": "ada", "eventType": "buy", "receivedAt": received_at});
    let lines = [
        line(json!(own)),
        line(Value::Null),
        line(json!(expired)),
        line(json!("2026-01-01")),
        line(json!(1)),
        line(json!("2026-11-20T22:16:40.000+01:0Z")),
    ];
    operator.file("s", &lines.map(|line| format!("{line}\n")).concat());
    let given = days_ago(2).to_string();
    let import = ["import", "--account", "shop", "s", "--received-at", &given];
    let keep_going = ["--keep-going"];
    assert_eq!(
        operator
            .run(&[&import[..], &keep_going].concat())
            .success()
            .stdout,
        "2 signals stored, 3 lines rejected, 1 expired: not stored.\n"
    );
    let error = json!({"line": 4, "errors": [{
        "field": "receivedAt", "pointer": "/receivedAt", "code": "invalid-type",
        "message": "receivedAt must be a time in UTC such as 2026-11-20T22:16:40.009Z.",
    }]});
    assert_eq!(json_lines(&operator.read("s.errors.ndjson"))[0], error);
    let history = app.history("shop", "ada").await;
    assert_eq!(history.len(), 2);
    assert_eq!(history[0]["receivedAt"].as_s().unwrap(), &own.to_string());
    assert!(
        history[0]["sk"].as_s().unwrap().ends_with("#0000"),
        "{history:?}"
    );
    assert!(!history[0].contains_key("undocumented"));
    assert_eq!(history[1]["receivedAt"].as_s().unwrap(), &given);
}

#[tokio::test]
async fn listed_signal_without_a_valid_key_is_rejected() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let line = |request: &str, index: Value| {
        let signal = json!({
            "customerId": "ada", "eventType": "buy", "receivedAt": "2026-11-20T22:16:40Z", "requestIdentifier": request,
            "index": index,
        });
        format!("{signal}\n")
    };
    let lines = [
        line("x", json!(0)),
        line(REQUEST, Value::Null),
        line(REQUEST, json!(10_000)),
        line(REQUEST, json!(0)),
    ];
    operator.file("s", &lines.concat());
    assert_eq!(import(&operator, "s")["stored"], 1);
    let errors = json_lines(&operator.read("s.errors.ndjson"));
    let messages: Vec<_> = errors
        .iter()
        .map(|line| line["errors"][0]["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            "requestIdentifier must be a UUID.",
            "index is required beside receivedAt and requestIdentifier.",
            "index must be a whole number from 0 to 9999."
        ]
    );
}

async fn update(app: &TestApp, id: &str, data: Value, at: Timestamp) {
    let key = app.key("shop").await;
    let body = json!({"customerId": id, "customerData": data});
    let call = RequestBuilder::customer(body).key(&key).received_at(at);
    assert_eq!(app.send(call).await.status, 200);
}

fn show(operator: &Operator, id: &str) -> Value {
    operator
        .run(&["customers", "show", "--account", "shop", id, "--json"])
        .success()
        .json()
        .remove(0)
}

#[tokio::test]
async fn shown_customer_is_the_same_in_another_stack() {
    let app = TestApp::start();
    let other = TestApp::start();
    let data = json!({"city": "", "loyalty": {"points": 12, "since": null}, "customerData": {"city": "Ulm"}});
    update(&app, "ada", data, days_ago(3)).await;
    // More unknown fields than one request may have.
    let more: Value = (0..20)
        .map(|number| (format!("more{number}"), json!(number)))
        .collect();
    update(&app, "ada", more, days_ago(2)).await;
    let mut shown = show(&Operator::new(&app), "ada");
    let operator = Operator::new(&other);
    operator.file("c", &format!("{shown}\n"));
    let summary = import(&operator, "c");
    assert_eq!(summary["stored"], 1, "{summary}");
    assert_eq!(summary["rejected"], 0, "{summary}");
    let again = show(&operator, "ada");
    // The line is two updates. The second one is written over an item that is as new.
    for time in ["createdAt", "updatedAt"] {
        shown[time] = again[time].clone();
    }
    assert_eq!(again, shown);
}

#[tokio::test]
async fn customer_with_a_time_and_without_valid_data_is_rejected_as_without_a_time() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let time = "2026-01-01T00:00:00Z";
    for customer in [
        json!({"customerId": "e1", "customerData": null}),
        json!({"customerId": "e2", "customer_data": {"city": "Ulm"}}),
        json!({"customerId": "e3", "city": "Ulm", "createdAt": time}),
    ] {
        let mut with_time = customer.clone();
        with_time["updatedAt"] = json!(time);
        let mut errors = Vec::new();
        for line in [customer, with_time] {
            operator.file("c", &format!("{line}\n"));
            let import = ["import", "--account", "shop", "--customers", "c"];
            let time = ["--received-at", time];
            let imported = operator.run(&[&import[..], &time].concat());
            assert_eq!(imported.code, Some(1), "{imported:?}");
            errors.push(operator.read("c.errors.ndjson"));
        }
        assert!(errors[0].contains("/customerData"), "{}", errors[0]);
        assert_eq!(errors[0], errors[1]);
    }
    assert_eq!(app.items("CustomersTable").await, []);
}
