//! The programs of the functions while DynamoDB fails: what they read from their variables, when they
//! end, and what they log.

use std::time::Duration;

use emulator::Emulator;
use emulator::sqs::{FakeSqs, event};
use futures_util::future::join_all;
use harness::fake_s3::{FakeS3, publish};
use harness::fault_proxy::{Fault, FaultProxy, Plan};
use harness::function_process::{FunctionProcess, ProcessOptions};
use harness::{
    AppBehindProxy, RequestBuilder, TestApp, build_functions, emulator_options, key_entry,
};
use model::api_key::KeyHash;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::NOW;
use crate::support::logs::request_lines_of_process;
use crate::support::requests::{batch_with_identifier, request_without_identifier};

/// A key that only the snapshot has.
const KEY: &str = "intake_sk_of_the_snapshot";

/// The options of a program over the tables and the queues of the stack.
fn options_of(stack: &AppBehindProxy, program: &str) -> ProcessOptions {
    let program = build_functions().unwrap().join(program);
    let AppBehindProxy { app, proxy, .. } = stack;
    emulator_options(&program, &proxy.endpoint(), &app.sqs, &app.s3)
}

#[tokio::test]
async fn process_finds_the_dead_letter_queue_and_the_tables_by_their_variables() {
    let stack = AppBehindProxy::start(
        Fault::InternalServerError
            .always()
            .for_operation("BatchWriteItem"),
    )
    .await;
    let batch = RequestBuilder::signals(batch_with_identifier(3)).received_at(NOW);
    let response = stack.send(batch).await;
    assert_eq!(response.json()["deferred"], 3, "{response:?}");
    let options = options_of(&stack, "overflow");
    let overflow = FunctionProcess::start(&options).await.unwrap();

    let mut messages = stack.app.sqs.receive(10, Duration::ZERO);
    stack.app.sqs.take_messages();
    let failed = overflow
        .invoke(event(&messages).to_string())
        .await
        .unwrap()
        .json();
    assert_eq!(
        failed,
        json!({"batchItemFailures": [{"itemIdentifier": "0"}]})
    );
    stack.proxy.set(Plan::none());
    messages.push(messages[0].clone());
    "unreadable".clone_into(&mut messages[1].body);
    let drained = overflow
        .invoke(event(&messages).to_string())
        .await
        .unwrap()
        .json();
    assert_eq!(drained, json!({"batchItemFailures": []}));
    assert_eq!(stack.app.items("SignalsTable").await.len(), 3);
    let dead_letters = stack.app.sqs.take_dead_letters();
    assert_eq!(dead_letters.len(), 1, "{dead_letters:?}");
    assert_eq!(dead_letters[0].body, "unreadable");
    assert_eq!(overflow.invocation_errors(), 0);
}

#[tokio::test]
async fn process_with_expired_credentials_defers_an_update_says_why_and_ends() {
    let stack = AppBehindProxy::start(
        Fault::Refused("ExpiredTokenException")
            .always()
            .for_operation("UpdateItem"),
    )
    .await;
    let mut options = options_of(&stack, "customers");
    let (log, lines) = tokio::sync::mpsc::unbounded_channel();
    options.log = Some(log);
    let mut process = FunctionProcess::start(&options).await.unwrap();
    // The log ends with the last of its senders.
    drop(options);
    let update =
        RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "x"}}))
            .key(&stack.key);
    let response = process.invoke(update.event()).await.unwrap().json();
    let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["result"], "deferred", "{response}");
    process.ended().await.unwrap();
    let lines = request_lines_of_process(lines).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["CustomersDeferred"], 1);
    assert_eq!(lines[0]["storeError"], "InvalidCredentials");
}

/// A DynamoDB of which every call fails, beside a queue and a snapshot with [`KEY`] that work.
struct Outage {
    _emulator: Emulator,
    proxy: FaultProxy,
    sqs: FakeSqs,
    s3: FakeS3,
}

impl Outage {
    async fn start(fault: Fault) -> Self {
        let emulator = TestApp::emulator();
        let proxy = FaultProxy::start(&emulator.endpoint(), fault.always())
            .await
            .unwrap();
        let s3 = FakeS3::start().await.unwrap();
        let of_snapshot = [(KeyHash::from_key(KEY), key_entry("shop"))];
        publish(&s3, &of_snapshot, Timestamp::now());
        Self {
            _emulator: emulator,
            proxy,
            sqs: FakeSqs::start().await.unwrap(),
            s3,
        }
    }

    /// Those of a process of the signals function.
    fn options(&self) -> ProcessOptions {
        let program = build_functions().unwrap().join("signals");
        emulator_options(&program, &self.proxy.endpoint(), &self.sqs, &self.s3)
    }
}

#[tokio::test]
async fn process_started_in_an_outage_takes_signals_and_says_so_in_its_log() {
    join_all([Fault::Hanging, Fault::THROTTLED].map(async |fault| {
        let outage = Outage::start(fault).await;
        let mut options = outage.options();
        let (log, lines) = tokio::sync::mpsc::unbounded_channel();
        options.log = Some(log);
        let mut process = FunctionProcess::start(&options).await.unwrap();
        // The log ends with the last of its senders.
        drop(options);
        process.idle().await.unwrap();
        let reads = outage.s3.take_requests();
        assert!(
            !reads.is_empty(),
            "{fault:?}: the snapshot is read during init"
        );
        let signal = request_without_identifier(1);
        let with_key = signal.clone().key(KEY).event();
        let response = process.invoke(with_key).await.unwrap().json();
        assert_eq!(response["statusCode"], 200, "{fault:?}: {response}");
        let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["deferred"], 1);
        let with_unknown_key = signal.key("an-unknown-key").event();
        let response = process.invoke(with_unknown_key).await.unwrap().json();
        assert_eq!(response["statusCode"], 503, "{fault:?}: {response}");
        process.kill().await.unwrap();
        let lines = request_lines_of_process(lines).await;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0]["KeyTableUnavailable"], 1);
        assert_eq!(lines[1]["KeyTableUnavailable"], Value::Null);
    }))
    .await;
}

/// Each write waits for DynamoDB longer than the time after which its connections count as lost.
#[tokio::test]
async fn deferrals_while_dynamodb_is_silent_share_connections_to_sqs() {
    const DEFERRALS: u64 = 3;
    let outage = Outage::start(Fault::Hanging).await;
    let options = outage.options();
    let process = FunctionProcess::start(&options).await.unwrap();
    for _ in 0..DEFERRALS {
        let signal = request_without_identifier(1).key(KEY).event();
        let response = process.invoke(signal).await.unwrap().json();
        assert_eq!(response["statusCode"], 200, "{response}");
    }
    assert_eq!(outage.sqs.sent(), DEFERRALS);
    let connections = outage.sqs.connections();
    // On a starved machine, a response of SQS may come so late that its connections count as lost, too.
    assert!(connections < DEFERRALS, "{connections} connections");
}
