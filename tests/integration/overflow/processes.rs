//! The program that drains, with the queue before it. (`key_snapshot/processes.rs` has the one that
//! defers.)

use std::time::Duration;

use emulator::sqs::{OVERFLOW_QUEUE, event};
use serde_json::json;
use testkit::fault_proxy::{Fault, Plan};
use testkit::function_process::FunctionProcess;
use testkit::{build_functions, emulator_options};

use super::{NOW, Stack, named};

#[tokio::test]
async fn process_finds_the_dead_letter_queue_and_the_tables_by_their_variables() {
    let stack = Stack::start(Fault::InternalServerError.always().of("BatchWriteItem")).await;
    assert_eq!(stack.send(&named(3), NOW).await.1["deferred"], 3);
    let mut options = emulator_options(
        &build_functions().unwrap().join("overflow"),
        &stack.proxy.endpoint(),
    );
    let endpoint = stack.sqs.endpoint();
    let queue = [
        ("DEAD_LETTER_QUEUE_URL", OVERFLOW_QUEUE),
        ("AWS_ENDPOINT_URL_SQS", endpoint.as_str()),
    ];
    options
        .variables
        .extend(queue.map(|(name, value)| (name.to_owned(), value.into())));
    let overflow = FunctionProcess::start(&options).await.unwrap();

    let mut messages = stack.sqs.receive(10, Duration::ZERO);
    stack.sqs.take_messages();
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
    assert_eq!(stack.stored().await.len(), 3);
    assert_eq!(stack.sqs.take_messages(), ["unreadable"]);
    assert_eq!(overflow.invocation_errors(), 0);
}
