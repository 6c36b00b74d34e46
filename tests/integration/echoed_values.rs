//! The response to an invalid request has none of the values that the client sent (docs/api.md,
//! Errors).

use harness::{RequestBuilder, TestApp};
use serde_json::json;

#[tokio::test]
async fn error_response_contains_no_sent_value() {
    let (app, key) = TestApp::with_key("shop").await;
    let valid = json!({"signals": [{"customerId": "c", "eventType": "e"}]});
    let accepted = app.send(RequestBuilder::signals(valid).key(&key)).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    let canary = "canary-7f3a";
    let bodies = [
        json!({"customerId": {"x": canary}, "customerData": {"email": [canary], "pk": canary}}),
        json!({"requestIdentifier": canary, "signals": [{"customerId": canary}]}),
        json!({"signals": [{"customerId": canary, "eventType": 1, "eventflowIdentifier": canary}, canary]}),
    ];
    for body in bodies {
        for call in [
            RequestBuilder::customer(&body),
            RequestBuilder::signals(&body),
        ] {
            let response = app.send(call.key(&key)).await;
            response.assert_problem(400, "validation-failed");
            assert!(!response.field_errors().is_empty(), "{}", response.text);
            assert!(
                !response.text.contains(canary) && !response.text.contains(&key),
                "{}",
                response.text
            );
        }
    }
}
