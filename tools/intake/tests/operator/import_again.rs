//! `import` of what the other commands list.

use model::timestamp::Timestamp;
use serde_json::{Value, json};
use testkit::{RequestBuilder, TestApp};

use crate::operator::Operator;

const REQUEST: &str = "6F1C0A52-7C1E-4A3E-9F0B-0D2F6F8A1B11";
const FLOW: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

fn days_ago(days: u64) -> Timestamp {
    Timestamp::from_millis(Timestamp::now().millis() - days * 86_400_000)
}

fn list(operator: &Operator, id: &str) -> String {
    operator
        .run(&["signals", "list", "--account", "shop", id, "--json"])
        .success()
        .stdout
}

fn import(operator: &Operator, file: &str) -> Value {
    operator
        .run(&["import", "--account", "shop", file, "--json"])
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
    for (body, received_at) in [
        (first, days_ago(2)),
        (json!({"signals": [event]}).to_string(), days_ago(1)),
    ] {
        let sent = app
            .send(RequestBuilder::signals(body).key(&key).at(received_at))
            .await;
        assert_eq!(sent.status, 200, "{sent:?}");
    }
}

#[tokio::test]
async fn listed_signals_are_the_same_in_another_stack() {
    let (app, other) = (TestApp::start(), TestApp::start());
    let operator = Operator::of(&app);
    send(&app).await;
    let listed = list(&operator, "ada") + &list(&operator, "journey");
    let (stored, indices): (_, Vec<u64>) = (
        app.items("SignalsTable").await,
        listed
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["index"]
                    .as_u64()
                    .unwrap()
            })
            .collect(),
    );
    assert_eq!(indices, [0, 1, 3, 0, 4]);
    let operator = Operator::of(&other);
    operator.file("listed", &listed);
    let summary = import(&operator, "listed");
    assert_eq!(
        (&summary["stored"], &summary["rejected"]),
        (&json!(5), &json!(0)),
        "{summary}"
    );
    assert_eq!(list(&operator, "ada") + &list(&operator, "journey"), listed);
    let sorted = |mut items: Vec<_>| {
        items.sort_by_key(|item: &std::collections::HashMap<_, _>| {
            format!("{:?}{:?}", item["pk"], item["sk"])
        });
        items
    };
    assert_eq!(
        sorted(other.items("SignalsTable").await),
        sorted(stored.clone())
    );

    // Once more, and twice in one file.
    operator.file("twice", &listed.repeat(2));
    assert_eq!(import(&operator, "twice")["stored"], 10);
    assert_eq!(sorted(other.items("SignalsTable").await), sorted(stored));
}

#[tokio::test]
async fn received_at_of_a_line_wins_over_the_option() {
    let app = TestApp::start();
    let operator = Operator::of(&app).variable("SIGNAL_RETENTION_DAYS", "30");
    let (own, expired) = (days_ago(3), days_ago(31));
    let line = |received_at: Value| json!({"customerId": "ada", "eventType": "buy", "receivedAt": received_at});
    let lines = [
        line(json!(own)),
        line(Value::Null),
        line(json!(expired)),
        line(json!("2026-01-01")),
        line(json!(1)),
    ];
    operator.file("s", &lines.map(|line| line.to_string() + "\n").concat());
    let given = days_ago(2).to_string();
    let import = ["import", "--account", "shop", "s", "--received-at", &given];
    assert_eq!(
        operator.run(&import).success().stdout,
        "2 signals stored, 2 lines rejected, 1 expired: not stored.\n"
    );
    let error = json!({"line": 4, "errors": [{
        "field": "receivedAt", "pointer": "/receivedAt", "code": "invalid-type",
        "message": "receivedAt must be a time in UTC such as 2026-11-20T22:16:40.009Z.",
    }]});
    assert_eq!(
        serde_json::from_str::<Value>(operator.read("s.errors.ndjson").lines().next().unwrap())
            .unwrap(),
        error
    );
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
    let operator = Operator::of(&app);
    let line = |request: &str, index: Value| {
        json!({
            "customerId": "ada", "eventType": "buy", "receivedAt": "2026-11-20T22:16:40Z", "requestIdentifier": request,
            "index": index,
        })
        .to_string()
            + "\n"
    };
    let lines = [
        line("x", json!(0)),
        line(REQUEST, Value::Null),
        line(REQUEST, json!(10_000)),
        line(REQUEST, json!(0)),
    ];
    operator.file("s", &lines.concat());
    assert_eq!(import(&operator, "s")["stored"], 1);
    let errors = operator.read("s.errors.ndjson");
    let messages: Vec<Value> = errors
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let messages: Vec<_> = messages
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
    assert_eq!(
        app.send(RequestBuilder::customer(body).key(&key).at(at))
            .await
            .status,
        200
    );
}

fn show(operator: &Operator, id: &str) -> Value {
    operator
        .run(&["customers", "show", "--account", "shop", id, "--json"])
        .success()
        .json()
        .remove(0)
}

#[tokio::test]
async fn customers_import_skips_lines_of_which_a_newer_update_is_stored() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    // As if bob had been updated while the import runs.
    for (id, at) in [
        ("ada", days_ago(2)),
        (
            "bob",
            Timestamp::now().plus(std::time::Duration::from_hours(1)),
        ),
    ] {
        update(&app, id, json!({"city": "of the client", "zip": "1"}), at).await;
    }
    let line = |id, city, updated_at: Value| {
        json!({"customerId": id, "customerData": {"city": city}, "updatedAt": updated_at})
            .to_string()
            + "\n"
    };
    let lines = [
        line("ada", "older", json!(days_ago(3))),
        line("bob", "without a time", Value::Null),
        line("eve", "first", json!("2026-01-01T00:00:00Z")),
        line("eve", "second", json!("2026-01-01T00:00:00Z")),
        line("eve", "invalid", json!("2026")),
    ];
    operator.file("c", &lines.concat());
    let now = Timestamp::now().to_string();
    let imported = operator
        .run(&["import", "--account", "shop", "--received-at", &now, "c"])
        .success()
        .stdout;
    let skipped = "2 customers stored, 1 line rejected, 2 skipped: a newer update is stored.\n";
    assert_eq!(imported, skipped);
    assert_eq!(
        ["ada", "bob", "eve"].map(|id| show(&operator, id)["city"].as_str().unwrap().to_owned()),
        ["of the client", "of the client", "second"]
    );
    assert_eq!(
        show(&operator, "eve")["updatedAt"],
        "2026-01-01T00:00:00.000Z"
    );

    let newer = days_ago(1);
    operator.file("newer", &line("ada", "newer", json!(newer)));
    assert_eq!(import(&operator, "newer")["stored"], 1);
    let ada = show(&operator, "ada");
    assert_eq!(
        (&ada["city"], &ada["zip"], &ada["updatedAt"]),
        (&json!("newer"), &json!("1"), &json!(newer))
    );
}

#[tokio::test]
async fn shown_customer_is_the_same_in_another_stack() {
    let (app, other) = (TestApp::start(), TestApp::start());
    update(
        &app,
        "ada",
        json!({"city": "", "loyalty": {"points": 12, "since": null}}),
        days_ago(3),
    )
    .await;
    // More unknown fields than one request may have.
    let more: Value = (0..20)
        .map(|number| (format!("more{number}"), json!(number)))
        .collect();
    update(&app, "ada", more, days_ago(2)).await;
    let mut shown = show(&Operator::of(&app), "ada");
    let operator = Operator::of(&other);
    operator.file("c", &(shown.to_string() + "\n"));
    let summary = import(&operator, "c");
    assert_eq!(
        [&summary["stored"], &summary["rejected"]],
        [1, 0],
        "{summary}"
    );
    shown["createdAt"] = shown["updatedAt"].clone();
    assert_eq!(show(&operator, "ada"), shown);
}
