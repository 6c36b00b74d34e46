//! The bytes of a stored request that CloudWatch bills.

use harness::function_process::{FunctionProcess, ProcessOptions};
use harness::{RequestBuilder, TestApp, build_functions, emulator_options};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::page::root;

/// Names and ids of these lengths are in the lines of the stack intake-prod.
const FUNCTION_NAME: &str = "intake-prod-SignalsFunction-AbCdEfGhIjKl";

/// What CloudWatch adds to each line (`PutLogEvents` in its API reference).
const BYTES_PER_LINE: usize = 26;

/// Values of the access log, of the length that they have for a request that a phone sends.
const REQUEST: [(&str, &str); 11] = [
    ("requestId", "JKJaXmPLvHcESHA="),
    (
        "awsEndpointRequestId",
        "5a4d2c11-7f0e-4b43-9d35-0c6b1a2f7e90",
    ),
    ("status", "200"),
    ("integration.status", "200"),
    ("responseLatency", "12"),
    ("identity.sourceIp", "203.0.113.17"),
    ("httpMethod", "POST"),
    ("path", "/api/event-flows/signal"),
    ("error.message", "-"),
    ("integrationErrorMessage", "-"),
    ("identity.userAgent", "okhttp/4.12.0"),
];

/// The line that API Gateway writes of a stored request, by template.yaml.
fn access_line() -> String {
    let template = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    let format = template
        .split("        Format: >-\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    let format = format.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = REQUEST.iter().fold(format, |line, (name, value)| {
        line.replacen(&format!("$context.{name}"), value, 1)
    });
    assert!(
        !line.contains('$'),
        "the access log has another value: {line}"
    );
    line
}

/// The lines of a process of this function: of a request without signals, then of these.
pub(super) async fn lines(
    function: &str,
    requests: impl FnOnce(&str) -> Vec<RequestBuilder>,
) -> Vec<String> {
    let app = TestApp::start();
    let key = app
        .key_with("acme", |entry| {
            "key_0123456789ab".clone_into(&mut entry.key_id);
        })
        .await;
    let (log, mut written) = mpsc::unbounded_channel();
    let mut options = emulator_options(
        &build_functions().unwrap().join(function),
        &app.emulator.endpoint(),
        &app.sqs,
        &app.s3,
    );
    options
        .variables
        .push(("AWS_LAMBDA_FUNCTION_NAME".to_owned(), FUNCTION_NAME.into()));
    let process = FunctionProcess::start(&ProcessOptions {
        log: Some(log),
        ..options
    })
    .await
    .unwrap();
    let first = RequestBuilder::signals("{}").key(&key);
    for request in [first].into_iter().chain(requests(&key)) {
        process.invoke(request.event()).await.unwrap();
    }
    drop(process);
    let mut lines = Vec::new();
    while let Some(line) = written.recv().await {
        lines.push(line);
    }
    lines
}

#[tokio::test]
async fn lines_of_a_stored_request_have_at_most_700_bytes() {
    let signal = json!({"customerId": "c1", "eventType": "purchase", "data": {"price": 12.5}});
    let batches = |key: &str| {
        let batch = |count| json!({"signals": vec![&signal; count]});
        [1, 1, 25]
            .map(|count| RequestBuilder::signals(batch(count)).key(key))
            .to_vec()
    };
    let lines = lines("signals", batches).await;
    let [cold, _, one, many] = &lines[..] else {
        panic!("{lines:?}")
    };
    let member =
        |line: &str, name: &str| serde_json::from_str::<Value>(line).unwrap()[name].clone();
    let of_access = access_line().len() + BYTES_PER_LINE;
    for line in [one, many] {
        assert_eq!(member(line, "status"), 200, "{line}");
        let bytes = line.len() + BYTES_PER_LINE + of_access;
        assert!(
            bytes <= 700,
            "{bytes}, of which {of_access} in the access log: {line}"
        );
    }
    assert_eq!(member(cold, "coldStart"), true);
    assert_eq!(member(one, "coldStart"), json!(null));
    assert!(
        member(cold, "initDurationMs").as_f64().unwrap() > 0.0,
        "{cold}"
    );
    assert_eq!(member(one, "initDurationMs"), json!(null));
}
