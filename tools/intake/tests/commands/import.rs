//! `import` stores the valid lines of a file, and reports the others.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use harness::TestApp;
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::clock::days_ago;
use crate::support::fault::{OperatorBehindProxy, operator_with_refused_value};
use crate::support::operator::{CommandOutput, Operator, json_lines};

/// Imports a file whose lines may have no time, and of which lines may be rejected.
fn import(operator: &Operator, file: &str) -> CommandOutput {
    operator.run(&[
        "import",
        "--account",
        "shop",
        "--keep-going",
        "--received-at",
        &Timestamp::now().to_string(),
        file,
    ])
}

/// An event with a byte order mark, an empty line, two invalid lines, and a step.
const VALID_AND_INVALID_LINES: &str = concat!(
    "\u{feff}{\"customerId\":\"ada\",\"eventType\":\"buy\",\"data\":{\"price\":123456789012345678901234567890}}\r\n",
    "\n",
    "{\"customerId\":\"ada\",\"eventType\":\"\"}\n",
    "not json\n",
    "{\"emitterId\":\"e\",\"stepNodeId\":\"n\",\"eventflowIdentifier\":\"3fa85f64-5717-4562-b3fc-2c963f66afa6\"}",
);

/// Imports [`VALID_AND_INVALID_LINES`] with a time.
fn import_valid_and_invalid_lines(operator: &Operator, more: &[&str]) -> CommandOutput {
    operator.file("s.ndjson", VALID_AND_INVALID_LINES);
    let import = ["import", "--account", "shop", "s.ndjson", "--keep-going"];
    let time = ["--received-at", "2026-01-01T12:00:00Z"];
    operator.run(&[&import[..], &time, more].concat()).success()
}

#[tokio::test]
async fn import_reports_invalid_lines_again_in_each_run() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let done = import_valid_and_invalid_lines(&operator, &["--json"]);
    let summary = json!({
        "kind": "signals", "stored": 2, "alreadyStored": 0, "replaced": 0, "storedInPart": 0, "nothingNewer": 0, "rejected": 2,
        "expired": 0, "dryRun": false, "unknownFields": [],
        "errorFile": "s.ndjson.errors.ndjson",
    });
    assert_eq!(done.json(), [summary]);
    let errors = operator.read("s.ndjson.errors.ndjson");
    assert_eq!(
        json_lines(&errors),
        [
            json!({"line": 3, "errors": [{"field": "eventType", "pointer": "/eventType", "code": "blank", "message": "eventType must not be blank."}]}),
            json!({"line": 4, "errors": [{"code": "malformed-json", "message": "The line is not JSON: expected ident at column 2."}]}),
        ]
    );
    let error_file = operator.home.path().join("s.ndjson.errors.ndjson");
    let mode = std::fs::metadata(error_file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the operator may read it");

    let stored = app.items("SignalsTable").await;
    let again = import_valid_and_invalid_lines(&operator, &[]);
    assert_eq!(
        again.stdout,
        "0 signals stored, 2 stored before, 2 lines rejected.\n"
    );
    assert_eq!(app.items("SignalsTable").await, stored);
    assert_eq!(operator.read("s.ndjson.errors.ndjson"), errors);
}

#[tokio::test]
async fn import_stores_valid_lines_with_their_time_digits_and_place() {
    let app = TestApp::start();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "36500");
    import_valid_and_invalid_lines(&operator, &[]);
    let ada = &app.history("shop", "ada").await[0];
    assert_eq!(
        ada["receivedAt"].as_s().unwrap(),
        "2026-01-01T12:00:00.000Z"
    );
    assert_eq!(ada["expiresAt"].as_n().unwrap(), "4920868800");
    assert_eq!(
        ada["data"].as_m().unwrap()["price"].as_n().unwrap(),
        "123456789012345678901234567890"
    );
    let key = ada["sk"].as_s().unwrap();
    assert_eq!(key.get(39..40), Some("8"), "a UUID of version 8: {key}");
    assert!(key.ends_with("#0000"), "{key}");
    let emitter = &app.history("shop", "e").await[0];
    let key = emitter["sk"].as_s().unwrap();
    assert_eq!(key.get(25..38), Some("00000000-0005"), "its line: {key}");
    assert!(key.ends_with("#0000"), "{key}");
}

#[tokio::test(flavor = "multi_thread")]
async fn line_that_dynamodb_refuses_is_rejected_alone() {
    let app = TestApp::start();
    let OperatorBehindProxy {
        operator,
        proxy: _proxy,
    } = operator_with_refused_value(&app).await;
    let line = |fields: &str| format!("{{\"customerId\":\"ada\",\"eventType\":\"buy\"{fields}}}\n");
    let own_key = r#","receivedAt":"2026-11-20T22:16:40.009Z","requestIdentifier":"3fa85f64-5717-4562-b3fc-2c963f66afa6""#;
    let refused = r#","data":{"x":"an-invalid-value"}"#;
    let lines = [
        "\n".to_owned(),
        line(&format!("{own_key},\"index\":0")),
        line(&format!("{own_key},\"index\":1{refused}")),
        line(""),
        line(refused),
    ];
    operator.file("s", &lines.concat());
    let imported = import(&operator, "s").success();
    assert_eq!(imported.stdout, "2 signals stored, 2 lines rejected.\n");
    let errors = json_lines(&operator.read("s.errors.ndjson"));
    let numbers: Vec<_> = errors.iter().map(|error| &error["line"]).collect();
    assert_eq!(numbers, [3, 5]);
    for error in &errors {
        assert_eq!(error["errors"][0]["code"], "refused-by-store");
    }

    operator.file(
        "c",
        "{\"customerId\":\"ada\",\"customerData\":{\"city\":\"an-invalid-value\"}}\n",
    );
    let refused = import(&operator, "c");
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.stdout, "0 customers stored, 1 line rejected.\n");
}

#[tokio::test]
async fn lines_of_one_customer_take_effect_in_order() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let mut file = String::new();
    for round in 0..40 {
        for customer in 0..20 {
            // The last round removes the field.
            let zip = if round == 39 { None } else { Some("1") };
            let data = json!({"city": format!("city {round}"), "zip": zip});
            let line = json!({"customerId": format!("c{customer}"), "customerData": data});
            writeln!(file, "{line}").unwrap();
        }
    }
    file += "{\"customerId\":\"c0\",\"customerData\":{\"pk\":\"x\"}}\n";
    operator.file("c.ndjson", &file);
    let done = import(&operator, "c.ndjson").success();
    // Of the lines with one time, the last one of a customer is stored.
    assert_eq!(
        done.stdout,
        "20 customers stored, 780 with nothing newer to store, 1 line rejected.\n"
    );
    let errors = json_lines(&operator.read("c.ndjson.errors.ndjson"));
    assert_eq!(errors[0]["line"], 801);
    let customers = app.items("CustomersTable").await;
    assert_eq!(customers.len(), 20);
    for customer in customers {
        assert_eq!(customer["city"].as_s().unwrap(), "city 39");
        assert!(!customer.contains_key("zip"));
    }
}

#[tokio::test]
async fn line_without_a_time_is_an_error_before_anything_is_stored() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let signal = json!({"customerId": "a", "eventType": "t"});
    let customer = json!({"customerId": "a", "customerData": {}});
    for (without_time, field) in [(signal, "receivedAt"), (customer, "updatedAt")] {
        let mut with_time = without_time.clone();
        with_time[field] = json!("2026-01-01T00:00:00Z");
        // The line without a time is in the second chunk.
        let first_chunk = format!("{with_time}\n").repeat(600);
        operator.file("f", &format!("{first_chunk}not JSON\n\n{without_time}\n"));
        let refused = operator
            .run(&["import", "--account", "shop", "f"])
            .error_message();
        assert_eq!(
            refused,
            format!(
                "Line 603 has no {field}. Give --received-at TIME, which such lines get, in this and each further run."
            )
        );
        assert_eq!(app.items("SignalsTable").await, []);
        assert_eq!(app.items("CustomersTable").await, []);
    }
    // An age would be another time in each run.
    let age = operator.run(&["import", "--account", "shop", "--received-at", "7d", "f"]);
    assert_eq!(age.code, Some(2), "{age:?}");
    assert!(
        age.stderr
            .contains("write a time in UTC, such as 2026-11-20"),
        "{age:?}"
    );
}

#[tokio::test]
async fn import_received_before_the_retention_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "30");
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    operator.file("c", "{\"customerId\":\"ada\",\"customerData\":{}}\n");
    let import = |file, received_at: &str| {
        operator.run(&[
            "import",
            "--account",
            "shop",
            file,
            "--received-at",
            received_at,
        ])
    };
    assert_eq!(
        import("s", "2026-01-01T12:00:00Z").error_message(),
        "The signals would already be expired: --received-at is 2026-01-01T12:00:00.000Z, and signals expire after 30 days \
         (SIGNAL_RETENTION_DAYS). Use a later --received-at."
    );
    assert_eq!(app.items("SignalsTable").await.len(), 0);
    let usable = days_ago(29);
    import("s", &usable.to_string()).success();
    assert_eq!(app.items("SignalsTable").await.len(), 1);
    // A customer does not expire.
    import("c", "2026-01-01T12:00:00Z").success();
}

#[tokio::test]
async fn time_far_ahead_in_an_option_or_in_a_line_is_refused() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let ahead = "9999-12-31T23:59:59.999Z";
    let customer = json!({"customerId": "ada", "customerData": {}, "updatedAt": ahead});
    operator.file("d", &format!("\n{customer}\n"));
    let import = operator.run(&["import", "--account", "shop", "d", "--received-at", ahead]);
    assert_eq!(
        import.error_message(),
        format!("--received-at is {ahead}: more than 5 minutes ahead.")
    );
    let import = operator.run(&["import", "--account", "shop", "d"]);
    assert_eq!(import.code, Some(1));
    let error = &json_lines(&operator.read("d.errors.ndjson"))[0];
    assert_eq!(error["line"], 2);
    assert_eq!(error["errors"][0]["pointer"], "/updatedAt");
    assert_eq!(app.items("CustomersTable").await, []);
}

#[tokio::test]
async fn unknown_fields_of_imported_lines_are_named() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let mut file = String::new();
    for numbers in [0..2, 0..1, 1..30] {
        let mut signal = json!({"customerId": "ada", "eventType": "buy", "data": {"any": 1}});
        for number in numbers {
            signal[format!("field\u{7}{number:02}")] = json!(true);
        }
        writeln!(file, "{signal}").unwrap();
    }
    operator.file("s", &file);
    let arguments = [
        "import",
        "--account",
        "shop",
        "--received-at",
        "2026-01-01",
        "s",
        "--json",
    ];
    let summary = operator.run(&arguments).success().json().remove(0);
    assert_eq!(summary["unknownFields"].as_array().unwrap().len(), 20);
    assert_eq!(summary["unknownFields"][1], "field\u{7}01");
    let text = import(&operator, "s").success().stdout;
    let (first, second) = text.split_once('\n').unwrap();
    assert_eq!(first, "3 signals stored, 0 lines rejected.");
    let start = "Unknown fields: field\\u{7}00, field\\u{7}01, ";
    assert!(second.starts_with(start), "{second}");
    assert!(second.ends_with("field\\u{7}19.\n"), "{second}");

    operator.file(
        "c",
        "{\"customerId\":\"a\",\"customerData\":{\"phone\":\"1\"},\"segment\":1}\n",
    );
    let text = import(&operator, "c").success().stdout;
    assert!(
        text.ends_with("Unknown fields: customerData.phone, segment.\n"),
        "{text}"
    );
}

#[tokio::test]
async fn import_that_stores_no_line_fails() {
    let app = TestApp::start();
    let operator = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "1");
    operator.file(
        "rejected",
        "{\"customerId\":\"ada\",\"eventType\":\"\"}\nx\n",
    );
    let old =
        json!({"customerId": "ada", "eventType": "buy", "receivedAt": "2026-01-01T00:00:00Z"});
    operator.file("expired", &old.to_string());
    for (file, summary) in [
        ("rejected", "0 signals stored, 2 lines rejected.\n"),
        (
            "expired",
            "0 signals stored, 0 lines rejected, 1 expired: not stored.\n",
        ),
    ] {
        for _ in 0..2 {
            let import = import(&operator, file);
            assert_eq!(import.code, Some(1));
            assert_eq!(import.stdout, summary);
            let error = format!("error: No line of {file} was stored.\n");
            assert!(import.stderr.ends_with(&error), "{}", import.stderr);
        }
    }
    operator.file("empty", "\n");
    import(&operator, "empty").success();
}

#[tokio::test]
async fn rejected_line_is_an_error_unless_the_operator_says_otherwise() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    operator.file("s.ndjson", VALID_AND_INVALID_LINES);
    let import = ["import", "--account", "shop", "s.ndjson"];
    let time = ["--received-at", "2026-01-01T12:00:00Z"];
    let done = operator.run(&[&import[..], &time].concat());
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stdout, "2 signals stored, 2 lines rejected.\n");
    let error = "error: 2 lines of s.ndjson were rejected. Correct them in a file of their own, and import that. With \
                 --keep-going, the exit code would be 0.\n";
    assert!(done.stderr.ends_with(error), "{}", done.stderr);
}

#[tokio::test]
async fn kind_of_a_file_is_sure_or_said() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let customer = r#"{"customerId":"ada","customerData":{"city":"Ulm"}}"#;
    let signal = r#"{"customerId":"ada","eventType":"buy"}"#;
    let unsure = r#"{"customerId":"ada"}"#;
    operator.file(
        "mixed",
        &format!("{customer}\nnot JSON\n{unsure}\n{signal}\n"),
    );
    assert_eq!(
        import(&operator, "mixed").error_message(),
        "Line 1 of mixed is a customer, and line 4 is a signal. Divide the file, or give --customers or --signals, which \
         rejects the lines of the other kind."
    );
    // The members of a signal may be unknown fields of a profile, and the reverse.
    let stored_customer = r#"{"customerId":"ada","accountId":"shop","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","eventType":"vip"}"#;
    let signal_with_update =
        r#"{"customerId":"ada","eventType":"buy","updatedAt":"2026-01-01T00:00:00Z"}"#;
    for of_both_kinds in [stored_customer, signal_with_update] {
        operator.file("both", &format!("{of_both_kinds}\n"));
        assert_eq!(
            import(&operator, "both").error_message(),
            "No line of both shows whether it is a customer or a signal. Give --customers or --signals."
        );
    }
    let other = r#"{"customerId":"bob","customerData":{"city":"Ulm"}}"#;
    operator.file("listed", &format!("{stored_customer}\n{other}\n"));
    assert_eq!(
        import(&operator, "listed").success().stdout,
        "2 customers stored, 0 lines rejected.\nUnknown fields: customerData.eventType.\n"
    );
    operator.file("unsure", &format!("{unsure}\n"));
    assert_eq!(
        import(&operator, "unsure").error_message(),
        "No line of unsure shows whether it is a customer or a signal. Give --customers or --signals."
    );
    operator.file("broken", &format!("{{\"customerId\":\n{customer}\n"));
    assert_eq!(
        import(&operator, "broken").success().stdout,
        "1 customer stored, 1 line rejected.\n"
    );
    let said = |kind| {
        let arguments = ["import", "--account", "shop", "--keep-going", "mixed"];
        let time = ["--received-at", "2026-01-01", kind];
        operator
            .run(&[&arguments[..], &time].concat())
            .success()
            .stdout
    };
    assert_eq!(
        said("--customers"),
        "0 customers stored, 1 with nothing newer to store, 3 lines rejected.\n"
    );
    assert_eq!(said("--signals"), "1 signal stored, 3 lines rejected.\n");
    // The lines of the other kind need no time.
    let dated =
        r#"{"customerId":"cy","customerData":{"city":"Ulm"},"updatedAt":"2026-01-01T00:00:00Z"}"#;
    operator.file("dated", &format!("{dated}\n{signal}\n"));
    let arguments = ["import", "--account", "shop", "--customers", "--keep-going"];
    let done = operator.run(&[&arguments[..], &["dated"]].concat());
    assert_eq!(
        done.success().stdout,
        "1 customer stored, 1 line rejected.\n"
    );
}

#[tokio::test]
async fn import_from_a_pipe_is_refused_before_anything_is_read() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let line = "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n";
    let import = ["import", "--account", "shop", "--received-at", "2026-01-01"];
    let pipe = "/dev/stdin";
    let refused = operator.run_with(&[&import[..], &[pipe]].concat(), &line.repeat(3_000));
    assert_eq!(
        refused.error_message(),
        "Cannot read /dev/stdin: an import reads its file several times, and this is not a regular file. Write the lines into \
         a file first, and import that file."
    );
    assert_eq!(app.items("SignalsTable").await, []);
}

#[tokio::test]
async fn file_that_cannot_be_imported_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    operator.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    assert!(
        import(&operator, "none")
            .error_message()
            .starts_with("Cannot read none: No such file")
    );
    assert!(
        import(&operator, ".")
            .error_message()
            .starts_with("Cannot read .:")
    );
    let no_retention = Operator::new(&app).variable("SIGNAL_RETENTION_DAYS", "");
    no_retention.file("s", "{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n");
    assert!(
        import(&no_retention, "s")
            .error_message()
            .contains("SIGNAL_RETENTION_DAYS")
    );
    assert_eq!(app.items("SignalsTable").await.len(), 0);
}
