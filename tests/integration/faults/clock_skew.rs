//! The clock of a function is an hour late: the SDK signs the next call with the time of the
//! service, so that the clock alone fails no request.

use std::time::Duration;

use aws::connectors::Connectors;
use aws::deadline::Deadline;
use aws::sdk_config::sdk_config;
use aws::sqs::Queue;
use aws::variables::Variables;
use emulator::sqs::{FakeSqs, OVERFLOW_QUEUE};
use harness::TestApp;
use harness::fake_s3::FakeS3;
use harness::fake_targets::FakeTargets;
use harness::fault_proxy::{Fault, FaultProxy};
use harness::function_process::FunctionProcess;
use serde_json::json;

use crate::support::delivery;
use crate::support::requests::customer;

/// How far the clocks of the services are ahead.
const AHEAD: Fault = Fault::ClockAhead(Duration::from_hours(1));

/// The calls that a proxy has refused, and all calls.
fn refused_of_all(proxy: &FaultProxy) -> (u64, u64) {
    let counts = proxy.counts();
    (counts.faulted, counts.calls())
}

#[tokio::test]
async fn update_is_repeated_with_the_time_of_dynamodb() {
    let emulator = TestApp::emulator();
    let keys = emulator.endpoint();
    let dynamodb = FaultProxy::start(&keys, AHEAD.always()).await.unwrap();
    let app = TestApp::with_dynamodb(emulator, &keys, &dynamodb.endpoint(), None);
    let key = app.key("shop").await;
    let response = app.send(customer().key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(refused_of_all(&dynamodb), (1, 2));
    // The process remembers the difference.
    let response = app.send(customer().key(&key)).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(refused_of_all(&dynamodb), (1, 3));
}

#[tokio::test]
async fn message_is_repeated_with_the_time_of_sqs() {
    let queues = FakeSqs::start().await.unwrap();
    let sqs = FaultProxy::start(&queues.endpoint(), AHEAD.always())
        .await
        .unwrap();
    let deadline = Deadline::after(Duration::from_secs(10));
    let account = "shop".parse().unwrap();
    let queue = queue_at(&sqs.endpoint());
    let sent = queue
        .send_all(vec!["m".to_owned()], &account, deadline)
        .await;
    assert_eq!(sent, Ok(()));
    assert_eq!(refused_of_all(&sqs), (1, 2));
    assert_eq!(queues.take_messages(), ["m"]);
}

#[tokio::test]
async fn cloud_events_are_repeated_with_the_time_of_their_target() {
    let targets = FakeTargets::start().await.unwrap();
    let s3 = FakeS3::start().await.unwrap();
    for (variable, endpoint_variable) in [
        (delivery::BUS[0], "AWS_ENDPOINT_URL_EVENTBRIDGE"),
        (delivery::LAKE[0], "AWS_ENDPOINT_URL_FIREHOSE"),
    ] {
        let target = FaultProxy::start(&targets.endpoint(), AHEAD.always())
            .await
            .unwrap();
        let endpoint = target.endpoint();
        let variables = [variable, (endpoint_variable, &endpoint)];
        let (options, _log) = delivery::options(&targets, &s3, &variables);
        let process = FunctionProcess::start(&options).await.unwrap();
        let event = json!({"Records": delivery::signals(0..1)}).to_string();
        let response = process.invoke(event).await.unwrap().json();
        assert_eq!(response, json!({"batchItemFailures": []}));
        assert_eq!(refused_of_all(&target), (1, 2));
    }
}

/// A queue of an SQS at this endpoint.
fn queue_at(endpoint: &str) -> Queue {
    let variables: Variables = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_ENDPOINT_URL_SQS", endpoint),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
    .collect();
    let connectors = Connectors::from_variables(&variables).unwrap();
    let config = sdk_config(&variables, &connectors.sqs).unwrap();
    Queue::new(&config, OVERFLOW_QUEUE)
}
