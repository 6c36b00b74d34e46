//! `cargo dev`, end to end: the functions behind HTTP, and what they wrote, read through
//! DynamoDB's protocol.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use emulator::{Emulator, Storage};
use harness::{LocalStack, build, call, client_at};
use serde_json::{Value, json};

use crate::support::page::root;

#[tokio::test]
async fn cargo_dev_beside_another_stack_serves_every_endpoint_until_sigint() {
    // This is a stack on the default port. The one of a developer may have the port already.
    let other = Emulator::start(harness::template(), &Storage::Memory, 8000);
    let stack = LocalStack::start(&[]);

    assert_every_endpoint_responds(&stack);
    assert_pages_are_refused(&stack);
    let customers = stored(&stack, "CUSTOMERS_TABLE").await;
    assert_eq!(customers.len(), 1);
    assert_eq!(
        customers[0]["accountId"].as_s().unwrap(),
        stack.variable("ACCOUNT_ID")
    );
    assert_eq!(customers[0]["dob"].as_s().unwrap(), "");
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 1);
    if let Ok(other) = other {
        let scan = client_at(&other.endpoint())
            .scan()
            .table_name(stack.variable("CUSTOMERS_TABLE"));
        assert_eq!(scan.send().await.unwrap().count, 0);
    }

    let stderr = stack.stop("INT");
    assert!(!stderr.contains("Error: "), "{stderr}");
}

/// Every endpoint responds as it does on AWS.
fn assert_every_endpoint_responds(stack: &LocalStack) {
    let ping = stack.send("GET", "/api/sdk/ping", &[], b"");
    assert_eq!(ping.status, 200);
    assert_eq!(ping.json(), json!({"response": "pong"}));

    let customer = r#"{"customerId": "c1", "customerData": {"firstName": "Ada", "dob": ""}}"#;
    let created = stack.send("POST", "/api/customers", &[], customer.as_bytes());
    assert_eq!(created.status, 200, "{created:?}");
    assert_eq!(created.json()["result"], "created", "{created:?}");
    let updated = stack.send("PATCH", "/api/customers", &[], customer.as_bytes());
    assert_eq!(updated.status, 200, "{updated:?}");
    assert_eq!(updated.json()["result"], "updated", "{updated:?}");

    let unreadable = stack.send("POST", "/api/customers", &[], b"{\"customerId\": \"\xff\"}");
    assert_eq!(unreadable.status, 400, "{unreadable:?}");
    assert_eq!(
        unreadable.json()["code"],
        "malformed-json",
        "{unreadable:?}"
    );

    let signals =
        r#"{"signals": [{"customerId": "c1", "eventType": "bought"}, {"customerId": "c1"}]}"#;
    let batch = stack.send("POST", "/api/event-flows/signal", &[], signals.as_bytes());
    assert_eq!(batch.status, 200);
    assert_eq!(batch.json()["accepted"], 1);
    assert_eq!(batch.json()["rejected"], 1);
}

/// No port responds to a page of another origin, nor under another host's name.
fn assert_pages_are_refused(stack: &LocalStack) {
    let endpoints = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"];
    for variable in endpoints.into_iter().chain(["BASE_URL"]) {
        let foreign = call(
            "POST",
            stack.variable(variable),
            &[("Host", "page.example")],
            b"{}",
        );
        assert_eq!(foreign.status, 403, "{variable}");
    }
    for variable in endpoints {
        let page = call(
            "POST",
            stack.variable(variable),
            &[("Origin", "http://127.0.0.1:3000")],
            b"{}",
        );
        assert_eq!(page.status, 403, "{variable}");
        assert_eq!(page.header("access-control-allow-origin"), "", "{variable}");
    }
}

#[tokio::test]
async fn faults_of_cargo_dev_reach_the_functions_only_and_defer_signals() {
    let customer = r#"{"customerId": "c1", "customerData": {}}"#;
    let signals = r#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let send =
        |stack: &LocalStack, path: &str, body: &str| stack.send("POST", path, &[], body.as_bytes());
    let stack = LocalStack::start(&["--faults", "1"]);
    let update = send(&stack, "/api/customers", customer);
    assert_eq!(update.status, 200, "{update:?}");
    assert_eq!(update.json()["result"], "deferred", "{update:?}");
    let batch = send(&stack, "/api/event-flows/signal", signals);
    assert_eq!(batch.status, 200, "{batch:?}");
    assert_eq!(batch.json()["deferred"], 1, "{batch:?}");
    assert_eq!(queued(&stack), 2, "their drains fail as well");
    stored(&stack, "CUSTOMERS_TABLE").await;
    let stderr = stack.stop("TERM");
    assert!(
        stderr.contains("Faults are on: a share of 1 of"),
        "{stderr}"
    );
    assert!(
        stderr.contains(
            " calls to DynamoDB had a fault.\nMessages with deferred data, lost with the queue: 2 "
        ),
        "{stderr}"
    );
}

#[test]
fn faults_of_the_queue_of_cargo_dev_give_the_503_of_the_function() {
    let stack = LocalStack::start(&["--faults", "1", "--queue-faults", "1"]);
    let customer = br#"{"customerId": "c1", "customerData": {}}"#;
    let update = stack.send("POST", "/api/customers", &[], customer);
    update.assert_problem(503, "storage-unavailable");
    let identifier = "0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";
    let signal = json!({"customerId": "c1", "eventType": "bought"});
    let batch = json!({"requestIdentifier": identifier, "signals": [signal]}).to_string();
    let batch = stack.send("POST", "/api/event-flows/signal", &[], batch.as_bytes());
    batch.assert_problem(503, "storage-unavailable");
    let stderr = stack.stop("TERM");
    let told = "a share of 1 of the functions' calls to the overflow queue is throttled, fails, or is lost.";
    assert!(stderr.contains(told), "{stderr}");
}

/// What a command of `cargo intake` prints that works on this stack.
fn intake(stack: &LocalStack, arguments: &[&str]) -> String {
    let programs = build(&["intake"]).unwrap();
    let output = Command::new(programs.join("intake"))
        .arg(format!("--local={}", stack.env_file().display()))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn key_of_the_operator_is_in_the_key_snapshot_of_cargo_dev_and_valid_while_dynamodb_fails() {
    let stack = LocalStack::start(&["--faults", "1"]);
    let key = intake(
        &stack,
        &["keys", "create", "--account", "shop", "--name", "web"],
    );
    let authorization = format!("Bearer {}", key.trim());
    let signals = br#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let headers = [("Authorization", authorization.as_str())];
    let deferred = stack.send("POST", "/api/event-flows/signal", &headers, signals);
    assert_eq!(deferred.json()["deferred"], 1, "{deferred:?}");

    let url = format!("{}/reset", stack.variable("INSPECTOR_URL"));
    let reset = call("POST", &url, &[("X-Intake-Inspector", "1")], b"");
    assert_eq!(reset.status, 204, "{reset:?}");
    let checks = intake(&stack, &["doctor", "--json"]);
    let snapshot = checks
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|check| check["check"] == "Key snapshot");
    let snapshot = snapshot.unwrap();
    assert_eq!(snapshot["seen"], "2 key(s), as in the table", "{snapshot}");
    stack.stop("TERM");
}

#[tokio::test]
async fn batch_is_deferred_while_a_call_to_a_table_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("dev.sqlite");
    let stack = LocalStack::start(&["--data", data.to_str().unwrap()]);
    let send = || {
        let signals = br#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
        stack.send("POST", "/api/event-flows/signal", &[], signals)
    };
    let batch = send();
    assert_eq!(batch.json()["accepted"], 1, "{batch:?}");

    // The next write of a table waits for this lock, for up to five seconds, and all other calls to tables
    // wait for this write.
    let holding = rusqlite::Connection::open(&data).unwrap();
    holding.execute_batch("BEGIN IMMEDIATE").unwrap();
    let batch = send();
    assert_eq!(batch.status, 200, "{batch:?}");
    assert_eq!(batch.json()["deferred"], 1, "{batch:?}");
    assert_eq!(queued(&stack), 1);
    holding.execute_batch("ROLLBACK").unwrap();

    wait_until_drained(&stack).await;
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 2);
    stack.stop("TERM");
}

/// A call of SQS's JSON protocol to the overflow queue of the stack.
fn call_queue(stack: &LocalStack, operation: &str, body: &Value) -> Value {
    let target = format!("AmazonSQS.{operation}");
    call(
        "POST",
        stack.variable("AWS_ENDPOINT_URL_SQS"),
        &[("X-Amz-Target", &target)],
        body.to_string().as_bytes(),
    )
    .json()
}

/// How many messages the overflow queue of the stack has.
fn queued(stack: &LocalStack) -> u64 {
    let url = stack.variable("OVERFLOW_QUEUE_URL");
    let call = json!({"QueueUrl": url, "AttributeNames": ["All"]});
    let response = call_queue(stack, "GetQueueAttributes", &call);
    let count = |name: &str| {
        response
            .pointer(&format!("/Attributes/{name}"))
            .unwrap()
            .as_str()
            .unwrap()
            .parse::<u64>()
    };
    count("ApproximateNumberOfMessages").unwrap()
        + count("ApproximateNumberOfMessagesNotVisible").unwrap()
}

async fn wait_until_drained(stack: &LocalStack) {
    let began = Instant::now();
    while queued(stack) > 0 {
        assert!(
            began.elapsed() < Duration::from_mins(5),
            "the queue is not drained"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a table of the stack has.
async fn stored(stack: &LocalStack, variable: &str) -> Vec<HashMap<String, AttributeValue>> {
    let dynamodb = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"));
    dynamodb
        .scan()
        .table_name(stack.variable(variable))
        .send()
        .await
        .unwrap()
        .items
        .unwrap()
}

#[test]
fn reset_of_one_account_deletes_only_its_messages_of_the_queue() {
    // Their drains fail, too.
    let stack = LocalStack::start(&["--faults", "1"]);
    let signals = br#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let deferred = stack.send("POST", "/api/event-flows/signal", &[], signals);
    assert_eq!(deferred.json()["deferred"], 1, "{deferred:?}");
    let event = std::fs::read_to_string(root().join("events/overflow/event.json")).unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    let of_other_account = &event["Records"][0]["body"];
    let call_body =
        json!({"QueueUrl": stack.variable("OVERFLOW_QUEUE_URL"), "MessageBody": of_other_account});
    call_queue(&stack, "SendMessage", &call_body);
    assert_eq!(queued(&stack), 2);
    let url = format!("{}/reset?account=dev", stack.variable("INSPECTOR_URL"));
    let reset = call("POST", &url, &[("X-Intake-Inspector", "1")], b"");
    assert_eq!(reset.status, 204, "{reset:?}");
    assert_eq!(queued(&stack), 1);
    stack.stop("TERM");
}

/// Has a stack with this data file defer a signal, and ends the stack.
fn defer_a_signal(data: &str) {
    let signals = br#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let stack = LocalStack::start(&["--data", data, "--faults", "1"]);
    let deferred = stack.send("POST", "/api/event-flows/signal", &[], signals);
    assert_eq!(deferred.status, 200, "{deferred:?}");
    assert_eq!(deferred.json()["deferred"], 1, "{deferred:?}");
    let stderr = stack.stop("INT");
    assert!(
        stderr.contains("dev.sqlite.queue: 1.\nStopped.\n"),
        "{stderr}"
    );
}

#[tokio::test]
async fn deferred_signals_of_a_stack_with_a_data_file_are_stored_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("dev.sqlite");
    defer_a_signal(data.to_str().unwrap());
    for file in std::fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
    {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }

    let stack = LocalStack::start(&["--data", data.to_str().unwrap()]);
    wait_until_drained(&stack).await;
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 1);
    stack.stop("TERM");
}
