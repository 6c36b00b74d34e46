//! Malformed and hostile requests get the documented 4xx (docs/api.md, Errors and Limits).

use serde_json::json;
use testkit::{RequestBuilder, TestApp};

#[tokio::test]
async fn malformed_json_is_a_400_with_line_and_column() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    for (body, detail) in [
        ("", "The body is not JSON: EOF while parsing a value at line 1, column 0."),
        ("{\n  \"customerId\": nope}", "The body is not JSON: expected ident at line 2, column 18."),
        ("{} {}", "The body is not JSON: trailing characters at line 1, column 4."),
        ("{'a':1}", "The body is not JSON: key must be a string at line 1, column 2."),
    ] {
        for call in [RequestBuilder::customer(body), RequestBuilder::signals(body)] {
            let response = app.send(call.key(&key)).await;
            response.assert_problem(400, "malformed-json");
            assert_eq!(response.json()["detail"], detail);
        }
    }
}

#[tokio::test]
async fn hundred_thousand_brackets_are_a_400() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let open = "[".repeat(100_000);
    let closed = format!("{open}{}", "]".repeat(100_000));
    let inside = format!(r#"{{"signals":[{closed},{{"customerId":"c","eventType":"t","data":{{"x":{closed}}}}}]}}"#);
    for (body, code) in [(&open, "malformed-json"), (&closed, "validation-failed"), (&inside, "validation-failed")] {
        app.send(RequestBuilder::signals(body).key(&key)).await.assert_problem(400, code);
    }
    app.send(RequestBuilder::customer(&open).key(&key)).await.assert_problem(400, "malformed-json");
    app.send(RequestBuilder::customer(&closed).key(&key)).await.assert_problem(400, "validation-failed");
}

#[tokio::test]
async fn body_of_5_mb_is_a_413_that_names_both_sizes() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    for call in [RequestBuilder::customer("x".repeat(5_000_000)), RequestBuilder::signals("x".repeat(5_000_000))] {
        let response = app.send(call.key(&key)).await;
        response.assert_problem(413, "payload-too-large");
        assert_eq!(response.json()["detail"], "Request body too large: 5000000 bytes, limit 4194304.");
    }
}

#[tokio::test]
async fn error_response_contains_no_sent_value() {
    let app = TestApp::start();
    let key = app.key("shop").await;
    let canary = "canary-7f3a";
    let bodies = [
        json!({"customerId": {"x": canary}, "customerData": {"email": [canary], "pk": canary}}),
        json!({"requestIdentifier": canary, "signals": [{"customerId": canary}]}),
        json!({"signals": [{"customerId": canary, "eventType": 1, "eventflowIdentifier": canary}, canary]}),
    ];
    for body in bodies {
        for call in [RequestBuilder::customer(&body), RequestBuilder::signals(&body)] {
            let response = app.send(call.key(&key)).await;
            assert_eq!(response.status, 400);
            assert!(!response.text.contains(canary) && !response.text.contains(&key), "{}", response.text);
        }
    }
}
