//! Programs with the overflow queue: the one that drains, and one that defers and must end.
//! (`key_snapshot/processes.rs` has one that defers in an outage.)

use std::time::Duration;

use emulator::sqs::{DEAD_LETTER_QUEUE, OVERFLOW_QUEUE, event};
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, Plan};
use testkit::function_process::{FunctionProcess, ProcessOptions};
use testkit::{RequestBuilder, build_functions, emulator_options};

use crate::support::clock::NOW;
use crate::support::logs::request_lines_of_process;
use crate::support::overflow_stack::OverflowStack;
use crate::support::requests::batch_with_identifier;

/// The options of a program over the tables and the SQS of the stack, with the variable of one queue.
fn options_with_queue(stack: &OverflowStack, program: &str, queue: (&str, &str)) -> ProcessOptions {
    let program = build_functions().unwrap().join(program);
    let mut options = emulator_options(&program, &stack.proxy.endpoint());
    let sqs = stack.sqs.endpoint();
    for (name, value) in [queue, ("AWS_ENDPOINT_URL_SQS", &sqs)] {
        options.variables.push((name.to_owned(), value.into()));
    }
    options
}

#[tokio::test]
async fn process_finds_the_dead_letter_queue_and_the_tables_by_their_variables() {
    let stack = OverflowStack::start(
        Fault::InternalServerError
            .always()
            .for_operation("BatchWriteItem"),
    )
    .await;
    stack.send_deferred(&batch_with_identifier(3), NOW, 3).await;
    let options = options_with_queue(
        &stack,
        "overflow",
        ("DEAD_LETTER_QUEUE_URL", DEAD_LETTER_QUEUE),
    );
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
    let dead_letters = stack.sqs.take_dead_letters();
    assert_eq!(dead_letters.len(), 1, "{dead_letters:?}");
    assert_eq!(dead_letters[0].body, "unreadable");
    assert_eq!(overflow.invocation_errors(), 0);
}

#[tokio::test]
async fn process_with_expired_credentials_defers_an_update_says_why_and_ends() {
    let stack =
        OverflowStack::start(Fault::ExpiredToken.always().for_operation("UpdateItem")).await;
    let mut options =
        options_with_queue(&stack, "customers", ("OVERFLOW_QUEUE_URL", OVERFLOW_QUEUE));
    let (log, lines) = tokio::sync::mpsc::unbounded_channel();
    options.log = Some(log);
    let mut process = FunctionProcess::start(&options).await.unwrap();
    // The log ends with the last of its senders.
    drop(options);
    let update =
        RequestBuilder::customer(json!({"customerId": "c", "customerData": {"city": "x"}}))
            .key(&stack.key);
    let answer = process.invoke(update.event()).await.unwrap().json();
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["result"], "deferred", "{answer}");
    process.ended().await.unwrap();
    let lines = request_lines_of_process(lines).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["CustomersDeferred"], 1);
    assert_eq!(lines[0]["storeError"], "InvalidCredentials");
}
