//! Events with values that API Gateway does not document, or that a client chose: each gets a
//! response, and no value of it is logged.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use harness::function_process::{FunctionProcess, ProcessOptions};
use harness::{RequestBuilder, TestApp, build_functions, emulator_options};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const CANARY: &str = "canary-9be2";

/// The event of a ping with this key, modified by `change`.
fn ping(key: &str, change: impl FnOnce(&mut Value)) -> String {
    changed(&RequestBuilder::ping().key(key), change)
}

fn changed(call: &RequestBuilder, change: impl FnOnce(&mut Value)) -> String {
    let mut event = serde_json::from_str(&call.event()).unwrap();
    change(&mut event);
    event.to_string()
}

/// An event, and the status of the response to it.
struct EventCase {
    event: String,
    status: u16,
}

/// Malformed events with the canary or the key in them, and a well-formed one.
fn event_cases(key: &str) -> Vec<EventCase> {
    let bearer = format!("Bearer {key}");
    let case = |status, event| EventCase { event, status };
    let changed_ping = |status, change: &dyn Fn(&mut Value)| case(status, ping(key, change));
    let not_base64 = |key: &str| {
        changed(&RequestBuilder::customer(CANARY).key(key), |event| {
            event["isBase64Encoded"] = true.into();
        })
    };
    let of_another_source =
        format!(r#"{{"source":"aws.events","detail":{{"authorization":"{bearer}"}}}}"#);
    vec![
        changed_ping(401, &|event| {
            event["headers"]["authorization"] = format!("{bearer}\u{1}{CANARY}").into();
        }),
        changed_ping(200, &|event| event["headers"]["x odd"] = CANARY.into()),
        changed_ping(200, &|event| {
            event["headers"]["x-odd"] = format!("a\r\n{CANARY}").into();
        }),
        changed_ping(404, &|event| {
            event["rawPath"] = format!("/{CANARY} <>").into();
        }),
        changed_ping(405, &|event| {
            event["requestContext"]["http"]["method"] = format!("{CANARY} GET").into();
        }),
        changed_ping(200, &|event| event["cookies"] = json!({CANARY: "a\u{1}"})),
        case(400, not_base64(key)),
        case(401, not_base64("unknown")),
        case(404, of_another_source),
        case(404, format!(r#""{CANARY}""#)),
        case(404, format!(r#"{{"headers":{{"authorization":"{bearer}"#)),
        case(404, "{}".to_owned()),
        changed_ping(200, &|_| {}),
    ]
}

#[tokio::test]
async fn malformed_events_get_responses_and_log_no_value() {
    let (app, key) = TestApp::with_key("shop").await;
    let (log, mut lines) = mpsc::unbounded_channel();
    let options = emulator_options(
        &build_functions().unwrap().join("customers"),
        &app.emulator.endpoint(),
        &app.sqs,
        &app.s3,
    );
    let process = FunctionProcess::start(&ProcessOptions {
        log: Some(log),
        ..options
    })
    .await
    .unwrap();
    let cases = event_cases(&key);
    for EventCase { event, status } in &cases {
        let response = process.invoke(event.clone()).await.unwrap().json();
        assert_eq!(response["statusCode"], *status, "{event}: {response}");
        let media_type = if *status == 200 {
            "application/json"
        } else {
            "application/problem+json"
        };
        assert_eq!(
            response["headers"]["content-type"], media_type,
            "{event}: {response}"
        );
    }
    assert_eq!(process.invocation_errors(), 0);
    // The log ends with the process.
    drop(process);
    let mut log = Vec::new();
    while let Some(line) = lines.recv().await {
        log.push(line);
    }
    assert_lines_of_malformed_events(&log, cases.len(), &key);
}

/// Each request has a line, one of them says what is wrong with a header, and none has the canary
/// or the key.
fn assert_lines_of_malformed_events(log: &[String], requests: usize, key: &str) {
    let request_lines = log.iter().filter(|line| line.contains("\"durationMs\":"));
    assert_eq!(request_lines.count(), requests, "{log:?}");
    let mut lines = log.iter();
    let names_header = lines.any(|line| line.contains("the value of a header is invalid"));
    assert!(names_header, "{log:?}");
    for line in log {
        assert!(!line.contains(CANARY) && !line.contains(key), "{line}");
    }
}

/// Invokes both functions with each event, and asserts the status of the customers function.
async fn assert_statuses(app: &TestApp, cases: impl IntoIterator<Item = (impl AsRef<[u8]>, u16)>) {
    for (event, status) in cases {
        let event = event.as_ref();
        let shown = String::from_utf8_lossy(event);
        let [customers, signals] = app.invoke(event).await;
        assert_eq!(customers.status, status, "{shown}: {}", customers.text);
        for response in [customers, signals] {
            if response.status != 200 {
                let body = response.json();
                response.assert_problem(
                    response.status,
                    body.get("code").and_then(Value::as_str).unwrap(),
                );
            }
            assert!(response.status < 500, "{shown}: {}", response.text);
            assert!(!response.header("x-request-id").is_empty(), "{shown}");
        }
    }
}

#[tokio::test]
async fn invalid_authorization_header_is_a_401() {
    let (app, key) = TestApp::with_key("shop").await;
    assert_statuses(&app, [(ping(&key, |_| {}), 200)]).await;
    let bearer = format!("Bearer {key}");
    for value in [
        json!(null),
        json!([bearer]),
        json!({"a": bearer}),
        json!(1),
        json!(format!("{bearer}\n")),
    ] {
        let event = ping(&key, |event| event["headers"]["authorization"] = value);
        let [response, _] = app.invoke(event.as_bytes()).await;
        response.assert_problem(401, "unauthorized");
        assert_eq!(
            response.header("www-authenticate"),
            r#"Bearer realm="intake""#
        );
    }
}

#[tokio::test]
async fn other_invalid_header_is_ignored() {
    let (app, key) = TestApp::with_key("shop").await;
    let set = |name: &str, value: &str| ping(&key, |event| event["headers"][name] = value.into());
    let many: Vec<String> = (0..50_000)
        .map(|number| format!(r#""h{number}":"""#))
        .collect();
    let too_many = ping(&key, |_| {}).replace(
        r#""headers":{"#,
        &format!(r#""headers":{{{},"#, many.join(",")),
    );
    assert_statuses(
        &app,
        [
            (set("", "a"), 200),
            (set("x odd", "a"), 200),
            (set("größe", "a"), 200),
            (set("x-odd", "\u{0}\u{7f}"), 200),
            (set("x-odd", "größe 🎉"), 200),
            (set(&"x".repeat(70_000), "a"), 200),
            (set("host", "a b\"<>"), 200),
            (
                ping("no", |event| {
                    event["headers"] = json!({"AUTHORIZATION": format!("Bearer {key}")});
                }),
                200,
            ),
            (too_many, 200),
        ],
    )
    .await;
}

#[tokio::test]
async fn invalid_path_is_a_404_and_invalid_method_a_405() {
    let app = TestApp::start();
    let path = |path: Value| (ping("k", |event| event["rawPath"] = path), 404);
    let paths = [
        json!(""),
        json!("a b"),
        json!("//[::1"),
        json!("/%zz\u{0}"),
        json!("/ä"),
        json!("/".repeat(100_000)),
        json!(1),
    ];
    assert_statuses(&app, paths.map(path)).await;
    let method = |method: Value| {
        (
            ping("k", |event| {
                event["requestContext"]["http"]["method"] = method;
            }),
            405,
        )
    };
    let methods = [
        json!(""),
        json!("G ET"),
        json!("GÉT"),
        json!("get"),
        json!("A".repeat(100_000)),
    ];
    assert_statuses(&app, methods.map(method)).await;
}
