//! The programs of both functions, with the queue between them.

use emulator::sqs::OVERFLOW_QUEUE;
use serde_json::{Value, json};
use testkit::fault_proxy::{Fault, Plan};
use testkit::function_process::FunctionProcess;
use testkit::{RequestBuilder, build_functions, emulator_options};

use super::{Stack, named};

#[tokio::test]
async fn processes_find_the_queue_and_the_tables_by_their_variables() {
    let stack = Stack::start(Fault::Throttled.always().of("BatchWriteItem")).await;
    let programs = build_functions().unwrap();
    let start = async |program: &str, queue_variable: &str| {
        let mut options = emulator_options(&programs.join(program), &stack.proxy.endpoint());
        let endpoint = stack.sqs.endpoint();
        let queue = [(queue_variable, OVERFLOW_QUEUE), ("AWS_ENDPOINT_URL_SQS", endpoint.as_str())];
        options.variables.extend(queue.map(|(name, value)| (name.to_owned(), value.into())));
        options.variables.push(("SIGNAL_RETENTION_DAYS".to_owned(), "0".into()));
        FunctionProcess::start(&options).await.unwrap()
    };
    let signals = start("signals", "OVERFLOW_QUEUE_URL").await;
    let event = RequestBuilder::signals(named(3)).key(&stack.key).event();
    let response = signals.invoke(event).await.unwrap().json();
    assert_eq!(response["statusCode"], 200, "{response}");
    let body: Value = serde_json::from_str(response["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["deferred"], 3);

    let overflow = start("overflow", "DEAD_LETTER_QUEUE_URL").await;
    let messages = stack.sqs.take_messages();
    let event = |bodies: &[String]| {
        let record =
            |(id, body): (usize, &String)| json!({"messageId": id.to_string(), "body": body, "eventSource": "aws:sqs"});
        json!({"Records": bodies.iter().enumerate().map(record).collect::<Value>()}).to_string()
    };
    let failed = overflow.invoke(event(&messages)).await.unwrap().json();
    assert_eq!(failed, json!({"batchItemFailures": [{"itemIdentifier": "0"}]}));
    stack.proxy.set(Plan::none());
    let with_unreadable = [messages, vec!["unreadable".to_owned()]].concat();
    assert_eq!(overflow.invoke(event(&with_unreadable)).await.unwrap().json(), json!({"batchItemFailures": []}));
    assert_eq!(stack.stored().await.len(), 3);
    assert_eq!(stack.sqs.take_messages(), ["unreadable"]);
    assert_eq!((signals.invocation_errors(), overflow.invocation_errors()), (0, 0));
}
