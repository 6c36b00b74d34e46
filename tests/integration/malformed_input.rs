//! What strangers and broken clients send: the right 4xx, in the one shape, and nothing breaks.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use testkit::{RequestBuilder, TestApp};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn malformed_json_is_a_400_with_line_and_column() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    for (body, detail) in [
        ("", "The body is not JSON: EOF while parsing a value at line 1, column 0."),
        ("{\n  \"customerId\": nope}", "The body is not JSON: expected ident at line 2, column 18."),
        ("{} {}", "The body is not JSON: trailing characters at line 1, column 4."),
        ("{'a':1}", "The body is not JSON: key must be a string at line 1, column 2."),
    ] {
        for call in [RequestBuilder::customer(body), RequestBuilder::signals(body)] {
            let answer = stack.send(call.key(&key)).await;
            answer.assert_problem(400, "malformed-json");
            assert_eq!(answer.json()["detail"], detail);
        }
    }
}

#[tokio::test]
async fn hundred_thousand_brackets_are_a_400() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let open = "[".repeat(100_000);
    let closed = format!("{open}{}", "]".repeat(100_000));
    let inside = format!(r#"{{"signals":[{closed},{{"customerId":"c","eventType":"t","data":{{"x":{closed}}}}}]}}"#);
    for (body, code) in [(&open, "malformed-json"), (&closed, "validation-failed"), (&inside, "validation-failed")] {
        stack.send(RequestBuilder::signals(body).key(&key)).await.assert_problem(400, code);
    }
    stack.send(RequestBuilder::customer(&open).key(&key)).await.assert_problem(400, "malformed-json");
    stack.send(RequestBuilder::customer(&closed).key(&key)).await.assert_problem(400, "validation-failed");
}

#[tokio::test]
async fn body_of_5_mb_is_a_413_that_names_both_sizes() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    for call in [RequestBuilder::customer("x".repeat(5_000_000)), RequestBuilder::signals("x".repeat(5_000_000))] {
        let answer = stack.send(call.key(&key)).await;
        answer.assert_problem(413, "payload-too-large");
        assert_eq!(answer.json()["detail"], "Request body too large: 5000000 bytes, limit 4194304.");
    }
}

#[tokio::test]
async fn gzip_bomb_is_a_413_and_truncated_gzip_a_400() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let bomb = gzip(&vec![b'['; 100 * 1024 * 1024]);
    let packed = |bytes: &[u8]| RequestBuilder::signals("").bytes(bytes).header("content-encoding", "gzip").key(&key);
    stack.send(packed(&bomb)).await.assert_problem(413, "payload-too-large");
    stack.send(packed(b"no gzip")).await.assert_problem(400, "malformed-json");
    let good = gzip(br#"{"signals":[{"customerId":"c","eventType":"t"}]}"#);
    assert_eq!(stack.send(packed(&good)).await.status, 200);
    stack.send(packed(&good[..good.len() - 9])).await.assert_problem(400, "malformed-json");
}

#[tokio::test]
async fn invalid_utf_8_is_a_400_with_line_and_column() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let answer = stack.send(RequestBuilder::customer("").bytes(b"{\"customerId\":\"\xff\xfe\"}").key(&key)).await;
    answer.assert_problem(400, "malformed-json");
    assert_eq!(answer.json()["detail"], "The body is not JSON: invalid UTF-8 at line 1, column 16.");
}

#[tokio::test]
async fn other_media_type_or_encoding_is_a_415() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    for call in [
        RequestBuilder::customer("{}").header("content-type", "text/plain"),
        RequestBuilder::customer("{}").without_header("content-type").bytes(b"{}"),
        RequestBuilder::signals("{}").header("content-encoding", "br"),
    ] {
        stack.send(call.key(&key)).await.assert_problem(415, "unsupported-media-type");
    }
}

#[tokio::test]
async fn an_answer_to_nothing_but_faults_fits_into_what_lambda_may_answer() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let name = |n: usize| format!("{}{n}", "\\u0001".repeat(250));
    let members: Vec<String> = (0..5).map(|n| format!("\"{}\":1e999", name(n))).collect();
    let signal = format!(r#"{{"customerId":"c","eventType":"t",{}}}"#, members.join(","));
    let body = format!(r#"{{"signals":[{}]}}"#, vec![signal; 500].join(","));
    assert!(body.len() < 4 * 1024 * 1024);
    let answer = stack.send(RequestBuilder::signals(body).key(&key)).await;
    assert_eq!(answer.field_errors().len(), 2_500);
    let as_lambda_answers = serde_json::to_string(&answer.text).unwrap();
    assert!(as_lambda_answers.len() < 5_500_000, "{} bytes", as_lambda_answers.len());
}

#[tokio::test]
async fn error_response_contains_no_sent_value() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let canary = "canary-7f3a";
    let bodies = [
        json!({"customerId": {"x": canary}, "customerData": {"email": [canary], "pk": canary}}),
        json!({"requestIdentifier": canary, "signals": [{"customerId": canary}]}),
        json!({"signals": [{"customerId": canary, "eventType": 1, "eventflowIdentifier": canary}, canary]}),
    ];
    for body in bodies {
        for call in [RequestBuilder::customer(&body), RequestBuilder::signals(&body)] {
            let answer = stack.send(call.key(&key)).await;
            assert_eq!(answer.status, 400);
            assert!(!answer.text.contains(canary) && !answer.text.contains(&key), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_query_or_a_host_that_is_no_uri_changes_nothing() {
    let stack = TestApp::start();
    let key = stack.key("shop").await;
    let call = RequestBuilder::ping().key(&key).query("a=<b>|{c} \u{7f}").header("host", "a b\"<>");
    assert_eq!(stack.send(call).await.status, 200);
}
