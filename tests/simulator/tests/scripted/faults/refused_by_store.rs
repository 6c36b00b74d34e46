//! DynamoDB rejects an item that passed every validation (docs/api.md, Signals and Customers).

use serde_json::{Value, json};
use simulator::aws::faults::Fault;

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{
    customer, request_with_identifier, request_without_identifier, signals,
};
use crate::support::stack::{INVALID, Stack};

/// Thirty signals. Those at `invalid` contain the text at which DynamoDB rejects a call.
fn body(invalid: &[usize]) -> Value {
    let mut signals = signals(30);
    for (index, signal) in signals.as_array_mut().unwrap().iter_mut().enumerate() {
        if invalid.contains(&index) {
            let data = json!({"n": index, "x": "an-invalid-value"});
            *signal = json!({"customerId": "c", "eventType": "view", "data": data});
        }
    }
    json!({"signals": signals})
}

#[tokio::test(start_paused = true)]
async fn signal_that_dynamodb_rejects_is_rejected_alone() {
    let stack = Stack::start([INVALID
        .where_body_has("an-invalid-value")
        .for_operation("BatchWriteItem")]);
    let response = stack.request(RequestBuilder::signals(body(&[3]))).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 29);
    assert_eq!(response.json()["rejected"], 1);
    assert_eq!(
        response.field_errors(),
        [("/signals/3".to_owned(), "refused-by-store".to_owned())]
    );
    let expected: Vec<_> = (0..30).filter(|n| *n != 3).collect();
    assert_eq!(stack.stored_numbers(), expected);
    assert_eq!(
        stack.calls_of("BatchWriteItem"),
        13,
        "two batches, two halves of the first one, two of these, until it is one signal, and the rejected signal"
    );
    assert_eq!(stack.calls_of("PutItem"), 0);
}

#[tokio::test(start_paused = true)]
async fn batch_that_dynamodb_rejects_whole_is_a_400() {
    let stack = Stack::start([INVALID.where_body_has("view")]);
    // The first attempt, and a retry: nothing is stored, so nothing is replayed.
    for _ in 0..2 {
        let response = stack.request(request_with_identifier(30)).await;
        response.assert_problem(400, "validation-failed");
        let counts = ["accepted", "rejected", "replayed"].map(|name| response.json()[name].clone());
        assert_eq!(counts, [json!(0), json!(30), json!(false)]);
    }
    assert_eq!(stack.stored_numbers(), Vec::<usize>::new());
    stack.set([]);
    let response = stack.request(request_with_identifier(30)).await;
    assert_eq!(response.json()["accepted"], 30, "{}", response.text);
}

#[tokio::test(start_paused = true)]
async fn customer_that_dynamodb_rejects_is_a_400_without_its_text() {
    let stack = Stack::start([INVALID.always()]);
    let response = stack.request(customer()).await;
    response.assert_problem(400, "validation-failed");
    assert_eq!(
        response.field_errors(),
        [("/customerData".to_owned(), "refused-by-store".to_owned())]
    );
    // The message of the simulated error.
    assert!(!response.text.contains("simulated"), "{}", response.text);
}

#[tokio::test(start_paused = true)]
async fn signal_left_unprocessed_beside_a_refused_one_is_written_again() {
    // The first call is refused, so its signals are divided; DynamoDB does nothing of the first half.
    let stack = Stack::start([INVALID.on_call(1), Fault::Unprocessed(0).on_call(2)]);
    let response = stack.request(request_without_identifier(3)).await;
    assert_eq!(response.json()["accepted"], 3, "{}", response.text);
    assert_eq!(stack.stored_numbers(), [0, 1, 2]);
    assert_eq!(stack.calls_of("BatchWriteItem"), 4);
}
