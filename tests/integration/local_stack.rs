//! `cargo dev`, end to end: the functions behind HTTP, and what they wrote, read through
//! DynamoDB's protocol.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use emulator::{Emulator, Storage};
use serde_json::{Value, json};
use testkit::{LocalStack, call, client_at};

use crate::page::root;

#[tokio::test]
async fn cargo_dev_beside_another_stack_serves_every_endpoint_until_sigint() {
    // A stack on the default port. A developer's may have it already.
    let other = Emulator::start(testkit::template(), &Storage::Memory, 8000);
    // What is stored is read at once: on a busy machine, the queue might have it still.
    let stack = LocalStack::start(&["--no-queue"]);

    let ping = stack.send("GET", "/api/sdk/ping", &[], b"");
    assert_eq!(
        (ping.status, ping.json()),
        (200, json!({"response": "pong"}))
    );

    let customer = r#"{"customerId": "c1", "customerData": {"firstName": "Ada", "dob": ""}}"#;
    let created = stack.send("POST", "/api/customers", &[], customer.as_bytes());
    assert_eq!(
        (created.status, &created.json()["result"]),
        (200, &json!("created")),
        "{created:?}"
    );
    let updated = stack.send("PATCH", "/api/customers", &[], customer.as_bytes());
    assert_eq!(
        (updated.status, &updated.json()["result"]),
        (200, &json!("updated")),
        "{updated:?}"
    );

    let unreadable = stack.send("POST", "/api/customers", &[], b"{\"customerId\": \"\xff\"}");
    assert_eq!(
        (unreadable.status, &unreadable.json()["code"]),
        (400, &json!("malformed-json")),
        "{unreadable:?}"
    );

    let signals =
        r#"{"signals": [{"customerId": "c1", "eventType": "bought"}, {"customerId": "c1"}]}"#;
    let batch = stack.send("POST", "/api/event-flows/signal", &[], signals.as_bytes());
    assert_eq!(
        (
            batch.status,
            &batch.json()["accepted"],
            &batch.json()["rejected"]
        ),
        (200, &json!(1), &json!(1))
    );

    for variable in ["AWS_ENDPOINT_URL_DYNAMODB", "BASE_URL"] {
        let foreign = call(
            "POST",
            stack.variable(variable),
            &[("Host", "page.example")],
            b"{}",
        );
        assert_eq!(foreign.status, 403, "{variable}");
    }
    let page = call(
        "POST",
        stack.variable("AWS_ENDPOINT_URL_DYNAMODB"),
        &[("Origin", "http://127.0.0.1:3000")],
        b"{}",
    );
    assert_eq!(
        (page.status, page.header("access-control-allow-origin")),
        (403, "")
    );

    let unknown = stack.send("GET", "/api/nothing", &[], b"");
    assert_eq!(
        (unknown.status, unknown.header("content-type")),
        (404, "application/json")
    );
    assert_eq!(unknown.json(), json!({"message": "Not Found"}));

    let customers = stored(&stack, "CUSTOMERS_TABLE").await;
    assert_eq!(customers.len(), 1);
    assert_eq!(
        customers[0]["accountId"].as_s().unwrap(),
        stack.variable("ACCOUNT_ID")
    );
    assert_eq!(customers[0]["dob"].as_s().unwrap(), "");
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 1);
    if let Ok(other) = other {
        let customers = stack.variable("CUSTOMERS_TABLE");
        assert_eq!(
            client_at(&other.endpoint())
                .scan()
                .table_name(customers)
                .send()
                .await
                .unwrap()
                .count,
            0
        );
    }

    let stderr = stack.stop("INT");
    assert!(!stderr.contains("Error: "), "{stderr}");
}

#[tokio::test]
async fn faults_of_cargo_dev_reach_the_functions_only_and_defer_signals() {
    let customer = r#"{"customerId": "c1", "customerData": {}}"#;
    let signals = r#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let send = |stack: &LocalStack, path: &str, body: &str| {
        let response = stack.send("POST", path, &[], body.as_bytes());
        let json = response.json();
        (
            response.status,
            json["code"].clone(),
            json["result"].clone(),
            json["deferred"].clone(),
        )
    };
    let stack = LocalStack::start(&["--faults", "1"]);
    assert_eq!(
        send(&stack, "/api/customers", customer),
        (200, Value::Null, json!("deferred"), Value::Null)
    );
    assert_eq!(
        send(&stack, "/api/event-flows/signal", signals),
        (200, Value::Null, Value::Null, json!(1))
    );
    assert_eq!(
        queued(&stack, "OVERFLOW_QUEUE_URL"),
        2,
        "their drains fail as well"
    );
    stored(&stack, "CUSTOMERS_TABLE").await;
    let stderr = stack.stop("TERM");
    assert!(
        stderr.contains("Faults are on: a share of 1 of"),
        "{stderr}"
    );
    assert!(
        stderr
            .contains(" calls to DynamoDB had a fault.\nMessages with deferred data that are lost with the queue: 2 "),
        "{stderr}"
    );

    let unavailable = (503, json!("storage-unavailable"), Value::Null, Value::Null);
    let stack = LocalStack::start(&["--faults", "1", "--no-queue"]);
    assert_eq!(send(&stack, "/api/customers", customer), unavailable);
    assert_eq!(
        send(&stack, "/api/event-flows/signal", signals),
        unavailable
    );
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

/// How many messages a queue of the stack has.
fn queued(stack: &LocalStack, variable: &str) -> u64 {
    let call = json!({"QueueUrl": stack.variable(variable), "AttributeNames": ["All"]});
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
    while queued(stack, "OVERFLOW_QUEUE_URL") > 0 {
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

#[tokio::test]
async fn overflow_queue_of_cargo_dev_is_drained_by_its_function() {
    let stack = LocalStack::start(&[]);
    let event = std::fs::read_to_string(root().join("events/overflow/event.json")).unwrap();
    let event: Value = serde_json::from_str(&event).unwrap();
    for body in [event["Records"][0]["body"].as_str().unwrap(), "unreadable"] {
        let call = json!({"QueueUrl": stack.variable("OVERFLOW_QUEUE_URL"), "MessageBody": body});
        call_queue(&stack, "SendMessage", &call);
    }
    for header in [("Origin", "http://page.example"), ("Host", "page.example")] {
        assert_eq!(
            call(
                "POST",
                stack.variable("AWS_ENDPOINT_URL_SQS"),
                &[header],
                b"{}"
            )
            .status,
            403
        );
    }
    wait_until_drained(&stack).await;
    assert_eq!(
        queued(&stack, "DEAD_LETTER_QUEUE_URL"),
        1,
        "the unreadable one"
    );
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 2);
    stack.stop("TERM");
}

#[tokio::test]
async fn deferred_signals_of_a_stack_with_a_data_file_are_stored_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("dev.sqlite");
    let signals = br#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let stack = LocalStack::start(&["--data", data.to_str().unwrap(), "--faults", "1"]);
    let deferred = stack.send("POST", "/api/event-flows/signal", &[], signals);
    assert_eq!(
        (deferred.status, &deferred.json()["deferred"]),
        (200, &json!(1)),
        "{deferred:?}"
    );
    let stderr = stack.stop("INT");
    assert!(
        stderr.contains("dev.sqlite.queue: 1.\nStopped.\n"),
        "{stderr}"
    );
    for file in std::fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
    {
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{file:?}"
        );
    }

    let stack = LocalStack::start(&["--data", data.to_str().unwrap()]);
    wait_until_drained(&stack).await;
    assert_eq!(stored(&stack, "SIGNALS_TABLE").await.len(), 1);
    stack.stop("TERM");
}
