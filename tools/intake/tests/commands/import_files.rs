//! `import` names what is wrong with a file or a line, also where no line has a time.

use harness::TestApp;

use crate::support::operator::{Operator, json_lines};

const IMPORT: [&str; 4] = ["import", "--account", "shop", "--signals"];

#[tokio::test]
async fn line_that_is_no_valid_object_is_rejected_although_it_has_no_time() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let valid = r#"{"customerId":"a","eventType":"t","receivedAt":"2026-11-20T22:33:44.123Z"}"#;
    let twice = r#"{"customerId":"a","customerId":"b","eventType":"t","receivedAt":"2026-11-20T22:33:44.123Z"}"#;
    let lines = format!("{twice}\n[{valid}]\n{valid}\n");
    operator.file("s.ndjson", &lines);
    let imported = operator.run(&[&IMPORT[..], &["--keep-going", "s.ndjson"]].concat());
    assert_eq!(
        imported.success().stdout,
        "1 signal stored, 2 lines rejected.\n"
    );
    let errors = json_lines(&operator.read("s.ndjson.errors.ndjson"));
    assert_eq!(
        errors[0]["errors"][0]["code"], "duplicate-member",
        "{errors:?}"
    );
    assert_eq!(
        errors[1]["errors"][0]["message"], "The body must be an object.",
        "{errors:?}"
    );
    assert_eq!(app.items("SignalsTable").await.len(), 1);
}

#[test]
fn file_without_json_objects_names_its_first_line() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    for (text, line) in [
        ("\n{\n  \"customerId\": \"a\"\n}\n", 2),
        ("[{\"customerId\":\"a\"}]\n", 1),
        ("{\"customerId\":\"a\"}\ncustomerId,eventType\n", 2),
        ("{\0}\0", 1),
    ] {
        operator.file("f", text);
        assert_eq!(
            operator
                .run(&["import", "--account", "shop", "f"])
                .error_message(),
            format!(
                "Line {line} of f is not a JSON object. An import needs one JSON object on each line, in UTF-8."
            )
        );
    }
}

#[test]
fn first_line_behind_the_end_of_the_file_is_an_error() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let line = r#"{"customerId":"a","eventType":"t","receivedAt":"2026-11-20T22:33:44.123Z"}"#;
    operator.file("s", &format!("{line}\n{line}\n"));
    let from = |number| operator.run(&[&IMPORT[..], &["--from-line", number, "s"]].concat());
    assert_eq!(
        from("300").error_message(),
        "--from-line is 300, and s ends with line 2."
    );
    from("3").success();
}
