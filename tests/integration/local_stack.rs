//! `cargo dev`, end to end: the compiled functions behind HTTP, and what they wrote, read through DynamoDB's protocol.

use std::time::{Duration, Instant};

use emulator::sqs::FakeSqs;
use emulator::{Emulator, Storage};
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::{LocalStack, RequestBuilder, TestApp, client_at};

#[tokio::test]
async fn cargo_dev_beside_another_stack_serves_every_endpoint_until_sigint() {
    // A stack on the default ports, where `cargo lambda watch` would send the functions. A developer's may have them already.
    let other = Emulator::start(testkit::template(), &Storage::Memory, 8000);
    // What is stored is read at once: on a busy machine, the queue might have it still.
    let stack = LocalStack::start(&["--no-queue"]);
    let key = stack.variable("API_KEY");

    let ping = stack.send(key, "GET", "/api/sdk/ping", None);
    assert_eq!((ping.status, ping.json), (200, json!({"response": "pong"})));

    let customer = r#"{"customerId": "c1", "customerData": {"firstName": "Ada", "dob": ""}}"#;
    let created = stack.send(key, "POST", "/api/customers", Some(customer));
    assert_eq!((created.status, &created.json["result"]), (200, &json!("created")), "{created:?}");
    let updated = stack.send(key, "PATCH", "/api/customers", Some(customer));
    assert_eq!((updated.status, &updated.json["result"]), (200, &json!("updated")), "{updated:?}");

    let exact = "12345678901234567890123456789012345678";
    let signals = format!(
        r#"{{"signals": [
            {{"customerId": "c1", "eventType": "bought", "data": {{"price": {exact}}}}},
            {{"emitterId": "e1", "stepNodeId": "start", "eventflowIdentifier": "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11"}},
            {{"customerId": "c1"}}
        ]}}"#
    );
    let batch = stack.send(key, "POST", "/api/event-flows/signal", Some(&signals));
    assert_eq!((batch.status, &batch.json["accepted"], &batch.json["rejected"]), (200, &json!(2), &json!(1)));

    let rejected = stack.send("intake_sk_unknown", "GET", "/api/sdk/ping", None);
    assert_eq!((rejected.status, rejected.content_type.as_str()), (401, "application/problem+json"));

    let unknown = stack.send(key, "GET", "/api/nothing", None);
    assert_eq!((unknown.status, unknown.content_type.as_str()), (404, "application/json"));
    assert_eq!(unknown.json, json!({"message": "Not Found"}));

    let dynamodb = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"));
    let stored = dynamodb.scan().table_name(stack.variable("CUSTOMERS_TABLE")).send().await.unwrap().items.unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0]["accountId"].as_s().unwrap(), stack.variable("ACCOUNT_ID"));
    assert_eq!(stored[0]["dob"].as_s().unwrap(), "");
    let stored = dynamodb.scan().table_name(stack.variable("SIGNALS_TABLE")).send().await.unwrap().items.unwrap();
    assert_eq!(stored.len(), 2);
    let prices = stored.iter().filter_map(|signal| signal["data"].as_m().unwrap().get("price"));
    assert_eq!(prices.map(|price| price.as_n().unwrap().as_str()).collect::<Vec<_>>(), [exact]);
    if let Ok(other) = other {
        let customers = stack.variable("CUSTOMERS_TABLE");
        assert_eq!(client_at(&other.endpoint()).scan().table_name(customers).send().await.unwrap().count, 0);
    }

    let stderr = stack.stop("INT");
    assert!(!stderr.contains("Error: "), "functions outlived cargo-lambda: {stderr}");
}

#[test]
fn data_file_survives_a_restart_of_cargo_dev() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.sqlite");
    let options = ["--concurrency", "2", "--data", file.to_str().unwrap()];
    let customer = r#"{"customerId": "c1", "customerData": {}}"#;
    for expected in ["created", "updated"] {
        let stack = LocalStack::start(&options);
        let response = stack.send(stack.variable("API_KEY"), "POST", "/api/customers", Some(customer));
        assert_eq!(response.json["result"], expected);
        stack.stop("TERM");
    }
}

#[tokio::test]
async fn faults_of_cargo_dev_reach_the_functions_only() {
    let stack = LocalStack::start(&["--faults", "1"]);
    let customer = r#"{"customerId": "c1", "customerData": {}}"#;
    let response = stack.send(stack.variable("API_KEY"), "POST", "/api/customers", Some(customer));
    assert_eq!((response.status, &response.json["code"]), (503, &json!("storage-unavailable")));

    let dynamodb = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"));
    dynamodb.scan().table_name(stack.variable("CUSTOMERS_TABLE")).send().await.unwrap();
    let stderr = stack.stop("TERM");
    assert!(stderr.contains("Faults are on: a share of 1 of"), "{stderr}");
    assert!(stderr.contains(" calls to DynamoDB had a fault.\nStopped.\n"), "{stderr}");
}

/// A call of SQS's JSON protocol to the overflow queue of the stack.
fn call_queue(stack: &LocalStack, operation: &str, call: &Value) -> Value {
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let request =
        agent.post(stack.variable("AWS_ENDPOINT_URL_SQS")).header("X-Amz-Target", format!("AmazonSQS.{operation}"));
    let mut response = request.send(call.to_string()).unwrap();
    serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
}

/// How many messages a queue of the stack has.
fn queued(stack: &LocalStack, variable: &str) -> u64 {
    let call = json!({"QueueUrl": stack.variable(variable), "AttributeNames": ["All"]});
    let response = call_queue(stack, "GetQueueAttributes", &call);
    let count = |name: &str| response.pointer(&format!("/Attributes/{name}")).unwrap().as_str().unwrap().parse::<u64>();
    count("ApproximateNumberOfMessages").unwrap() + count("ApproximateNumberOfMessagesNotVisible").unwrap()
}

/// A message with one signal.
async fn deferred_message() -> String {
    let (emulator, sqs) = (TestApp::emulator(), FakeSqs::start().await.unwrap());
    let keys = emulator.endpoint();
    let proxy = FaultProxy::start(&keys, Fault::ResetBefore.always()).await.unwrap();
    let app = TestApp::with_queue(emulator, &keys, &proxy.endpoint(), None, Some(&sqs));
    let signals = json!({"signals": [{"customerId": "c1", "eventType": "bought"}]});
    let key = app.key("shop").await;
    assert_eq!(app.send(RequestBuilder::signals(signals).key(&key)).await.status, 200);
    sqs.take_messages().remove(0)
}

#[tokio::test]
async fn signals_of_cargo_dev_are_deferred_while_dynamodb_fails() {
    let stack = LocalStack::start(&["--faults", "1"]);
    let signals = r#"{"signals": [{"customerId": "c1", "eventType": "bought"}]}"#;
    let response = stack.send(stack.variable("API_KEY"), "POST", "/api/event-flows/signal", Some(signals));
    assert_eq!((response.status, &response.json["deferred"]), (200, &json!(1)), "{response:?}");
    assert_eq!(queued(&stack, "OVERFLOW_QUEUE_URL"), 1, "its drain fails as well");
    stack.stop("TERM");

    let stack = LocalStack::start(&["--faults", "1", "--no-queue"]);
    let response = stack.send(stack.variable("API_KEY"), "POST", "/api/event-flows/signal", Some(signals));
    assert_eq!((response.status, &response.json["code"]), (503, &json!("storage-unavailable")));
    stack.stop("TERM");
}

#[tokio::test]
async fn overflow_queue_of_cargo_dev_is_drained_by_its_function() {
    let stack = LocalStack::start(&[]);
    let deferred = deferred_message().await;
    for body in [deferred.as_str(), "unreadable"] {
        let call = json!({"QueueUrl": stack.variable("OVERFLOW_QUEUE_URL"), "MessageBody": body});
        call_queue(&stack, "SendMessage", &call);
    }
    let began = Instant::now();
    while queued(&stack, "OVERFLOW_QUEUE_URL") > 0 {
        assert!(began.elapsed() < Duration::from_mins(5), "the queue is not drained");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(queued(&stack, "DEAD_LETTER_QUEUE_URL"), 1, "the unreadable one");
    let dynamodb = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"));
    let stored = dynamodb.scan().table_name(stack.variable("SIGNALS_TABLE")).send().await.unwrap();
    assert_eq!(stored.count, 1);
    stack.stop("TERM");
}

#[test]
fn only_pages_of_an_allowed_origin_may_call() {
    let stack = LocalStack::start(&["--cors", "http://localhost:3000", "--cors", "https://shop.example"]);
    let ask = |method: &str, origin: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/sdk/ping", stack.variable("BASE_URL")))
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "GET");
        let response = agent.run(request.body(()).unwrap()).unwrap();
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        (
            response.status().as_u16(),
            header("allow"),
            header("access-control-allow-origin"),
            header("access-control-max-age"),
        )
    };
    let text = |text: &str| Some(text.to_owned());
    for origin in ["http://localhost:3000", "https://shop.example"] {
        assert_eq!(ask("OPTIONS", origin), (204, text("GET, OPTIONS"), text(origin), text("3600")));
        assert_eq!(ask("GET", origin), (401, None, text(origin), None));
    }
    assert_eq!(ask("OPTIONS", "http://localhost:3001"), (204, text("GET, OPTIONS"), None, None));
    stack.stop("TERM");
}
