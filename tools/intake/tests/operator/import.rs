//! `import`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::TestApp;
use testkit::fault_proxy::{Fault, FaultProxy};

use crate::operator::Operator;

fn lines_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn import_stores_valid_lines_and_reports_invalid_ones() {
    let app = TestApp::start();
    let operator = Operator::of(&app).variable("SIGNAL_RETENTION_DAYS", "36500");
    let file = concat!(
        "\u{feff}{\"customerId\":\"ada\",\"eventType\":\"buy\",\"data\":{\"price\":123456789012345678901234567890}}\r\n",
        "\n",
        "{\"customerId\":\"ada\",\"eventType\":\"\"}\n",
        "not json\n",
        "{\"emitterId\":\"e\",\"stepNodeId\":\"n\",\"eventflowIdentifier\":\"3fa85f64-5717-4562-b3fc-2c963f66afa6\"}",
    );
    operator.file("s.ndjson", file);
    let import = ["import", "--account", "shop", "--received-at", "2026-01-01T12:00:00Z", "s.ndjson"];
    let done = operator.run(&[&import[..], &["--json"]].concat()).success();
    let summary = json!({
        "kind": "signals", "stored": 2, "rejected": 2, "expired": 0, "skipped": 0, "unknownFields": [],
        "errorFile": "s.ndjson.errors.ndjson",
    });
    assert_eq!(done.json(), [summary]);
    assert_eq!(
        lines_of(&operator.read("s.ndjson.errors.ndjson")),
        [
            json!({"line": 3, "errors": [{"field": "eventType", "pointer": "/eventType", "code": "blank", "message": "eventType must not be blank."}]}),
            json!({"line": 4, "errors": [{"code": "malformed-json", "message": "The line is not JSON: expected ident at column 2."}]}),
        ]
    );
    for name in ["s.ndjson.import.json", "s.ndjson.errors.ndjson"] {
        let mode = std::fs::metadata(operator.home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let ada = &app.history("shop", "ada").await[0];
    assert_eq!(ada["receivedAt"].as_s().unwrap(), "2026-01-01T12:00:00.000Z");
    assert_eq!(ada["expiresAt"].as_n().unwrap(), "4920868800");
    assert_eq!(ada["data"].as_m().unwrap()["price"].as_n().unwrap(), "123456789012345678901234567890");
    assert!(ada["sk"].as_s().unwrap().ends_with("-000000000000#0000"), "{ada:?}");
    assert!(app.history("shop", "e").await[0]["sk"].as_s().unwrap().ends_with("#0004"));

    let again = operator.run(&import).success();
    assert_eq!(again.stdout, "2 signals stored, 2 lines rejected.\n");
    assert!(again.stderr.contains("s.ndjson is already imported"), "{}", again.stderr);
    assert_eq!(app.items("SignalsTable").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn line_that_dynamodb_refuses_is_rejected_alone() {
    let app = TestApp::start();
    let proxy =
        FaultProxy::start(&app.emulator.endpoint(), Fault::Invalid.where_body_has("an-invalid-value")).await.unwrap();
    let operator = Operator::of(&app).variable("AWS_ENDPOINT_URL_DYNAMODB", &proxy.endpoint());
    let line = |fields: &str| format!("{{\"customerId\":\"ada\",\"eventType\":\"buy\"{fields}}}\n");
    let own_key =
        r#","receivedAt":"2026-11-20T22:16:40.009Z","requestIdentifier":"3fa85f64-5717-4562-b3fc-2c963f66afa6""#;
    let refused = r#","data":{"x":"an-invalid-value"}"#;
    let lines = [
        "\n".to_owned(),
        line(&format!("{own_key},\"index\":0")),
        line(&format!("{own_key},\"index\":1{refused}")),
        line(""),
        line(refused),
    ];
    operator.file("s", &lines.concat());
    let imported = operator.run(&["import", "--account", "shop", "s"]).success();
    assert_eq!(imported.stdout, "2 signals stored, 2 lines rejected.\n");
    let errors = lines_of(&operator.read("s.errors.ndjson"));
    let errors: Vec<_> = errors.iter().map(|line| (&line["line"], &line["errors"][0]["code"])).collect();
    assert_eq!(errors, [(&json!(3), &json!("refused-by-store")), (&json!(5), &json!("refused-by-store"))]);

    operator.file("c", "{\"customerId\":\"ada\",\"customerData\":{\"city\":\"an-invalid-value\"}}\n");
    let refused = operator.run(&["import", "--account", "shop", "c"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), "0 customers stored, 1 lines rejected.\n"));
}

#[tokio::test]
async fn lines_of_one_customer_take_effect_in_order() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let mut file = String::new();
    for round in 0..40 {
        for customer in 0..20 {
            let data =
                json!({"city": format!("city {round}"), "zip": if round == 39 { Value::Null } else { json!("1") }});
            file += &(json!({"customerId": format!("c{customer}"), "customerData": data}).to_string() + "\n");
        }
    }
    file += "{\"customerId\":\"c0\",\"customerData\":{\"pk\":\"x\"}}\n";
    operator.file("c.ndjson", &file);
    let done = operator.run(&["import", "--account", "shop", "c.ndjson"]).success();
    assert_eq!(done.stdout, "800 customers stored, 1 lines rejected.\n");
    assert_eq!(lines_of(&operator.read("c.ndjson.errors.ndjson"))[0]["line"], 801);
    let customers = app.items("CustomersTable").await;
    assert_eq!(customers.len(), 20);
    for customer in customers {
        assert_eq!(customer["city"].as_s().unwrap(), "city 39");
        assert!(!customer.contains_key("zip"));
    }
}

#[tokio::test]
async fn import_with_other_options_than_its_checkpoint_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    operator.run(&["import", "--account", "shop", "s"]).success();
    let other = |arguments: &[&str]| operator.run(&[&["import", "s"], arguments].concat()).error_message();
    let is_other = |error: &str| error.starts_with("s.import.json records an import with another account, table,");
    assert!(is_other(&other(&["--account", "shop-2"])));
    assert!(is_other(&other(&["--account", "shop", "--received-at", "2026-01-01"])));
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n\n");
    let changed = other(&["--account", "shop"]);
    assert!(is_other(&changed) && changed.contains("or delete s.import.json"), "{changed}");
    assert_eq!(app.items("SignalsTable").await.len(), 1);
}

#[tokio::test]
async fn import_received_before_the_retention_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::of(&app).variable("SIGNAL_RETENTION_DAYS", "30");
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    operator.file("c", "{\"customerId\":\"ada\",\"customerData\":{}}\n");
    let import = |file, received_at| operator.run(&["import", "--account", "shop", file, "--received-at", received_at]);
    assert_eq!(
        import("s", "2026-01-01T12:00:00Z").error_message(),
        "The signals would already be expired: --received-at is 2026-01-01T12:00:00.000Z, and signals are kept for 30 \
         days (SIGNAL_RETENTION_DAYS). Use a later --received-at."
    );
    assert!(!operator.home.path().join("s.import.json").exists());
    assert_eq!(app.items("SignalsTable").await.len(), 0);
    import("s", "29d").success();
    assert_eq!(app.items("SignalsTable").await.len(), 1);
    // A customer does not expire.
    import("c", "2026-01-01T12:00:00Z").success();
}

#[tokio::test]
async fn time_far_ahead_is_refused_as_an_option_and_in_a_line() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let ahead = "9999-12-31T23:59:59.999Z";
    operator.file("d", &format!("\n{}\n", json!({"customerId": "ada", "customerData": {}, "updatedAt": ahead})));
    let import = operator.run(&["import", "--account", "shop", "d", "--received-at", ahead]);
    assert_eq!(import.error_message(), format!("--received-at is {ahead}: more than five minutes ahead."));
    assert!(!operator.home.path().join("d.import.json").exists());
    assert_eq!(operator.run(&["import", "--account", "shop", "d"]).code, Some(1));
    let errors = &lines_of(&operator.read("d.errors.ndjson"))[0];
    assert_eq!((&errors["line"], &errors["errors"][0]["pointer"]), (&json!(2), &json!("/updatedAt")));
    assert_eq!(app.items("CustomersTable").await, []);
}

#[tokio::test]
async fn unknown_fields_are_named() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let mut file = String::new();
    for (from, to) in [(0, 2), (0, 1), (1, 30)] {
        let mut signal = json!({"customerId": "ada", "eventType": "buy", "data": {"any": 1}});
        (from..to).for_each(|number| signal[format!("field\u{7}{number:02}")] = json!(true));
        file += &(signal.to_string() + "\n");
    }
    operator.file("s", &file);
    let summary = operator.run(&["import", "--account", "shop", "s", "--json"]).success().json().remove(0);
    assert_eq!(summary["unknownFields"].as_array().unwrap().len(), 20);
    assert_eq!(summary["unknownFields"][1], "field\u{7}01");
    let text = operator.run(&["import", "--account", "shop", "s"]).success().stdout;
    let (first, second) = text.split_once('\n').unwrap();
    assert_eq!(first, "3 signals stored, 0 lines rejected.");
    let start = "Unknown fields: field\\u{7}00, field\\u{7}01, ";
    assert!(second.starts_with(start) && second.ends_with("field\\u{7}19.\n"), "{second}");

    operator.file("c", "{\"customerId\":\"a\",\"customerData\":{\"phone\":\"1\"},\"segment\":1}\n");
    let text = operator.run(&["import", "--account", "shop", "c"]).success().stdout;
    assert!(text.ends_with("Unknown fields: customerData.phone, segment.\n"), "{text}");
}

#[tokio::test]
async fn import_that_stores_no_line_fails() {
    let app = TestApp::start();
    let operator = Operator::of(&app).variable("SIGNAL_RETENTION_DAYS", "1");
    operator.file("rejected", "{\"customerId\":\"ada\"}\nx\n");
    let old = json!({"customerId": "ada", "eventType": "buy", "receivedAt": "2026-01-01T00:00:00Z"});
    operator.file("expired", &old.to_string());
    for (file, summary) in [
        ("rejected", "0 signals stored, 2 lines rejected.\n"),
        ("expired", "0 signals stored, 0 lines rejected, 1 expired: not stored.\n"),
    ] {
        for _ in 0..2 {
            let outcome = operator.run(&["import", "--account", "shop", file]);
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), summary));
            assert!(outcome.stderr.ends_with(&format!("error: No line of {file} was stored.\n")), "{}", outcome.stderr);
        }
    }
    operator.file("empty", "\n");
    operator.run(&["import", "--account", "shop", "empty"]).success();
}

#[tokio::test]
async fn file_that_cannot_be_imported_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    let import = |operator: &Operator, file| operator.run(&["import", "--account", "shop", file]).error_message();
    assert!(import(&operator, "none").starts_with("Cannot read none: No such file"));
    assert!(import(&operator, ".").starts_with("Cannot read .:"));
    operator.file("s.import.json", "{}");
    assert!(import(&operator, "s").contains("s.import.json is not the checkpoint of an import"));
    let no_retention = Operator::of(&app).variable("SIGNAL_RETENTION_DAYS", "");
    no_retention.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    assert!(import(&no_retention, "s").contains("SIGNAL_RETENTION_DAYS"));
    assert_eq!(app.items("SignalsTable").await.len(), 0);
}
