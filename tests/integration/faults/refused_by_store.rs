//! What DynamoDB finds invalid although every check of the contract passed.

use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use super::{behind, customer, signals, stored};

/// Thirty signals, of which those at `spoilt` carry what the proxy has DynamoDB refuse.
fn body(spoilt: &[usize]) -> Value {
    let mut signals = signals(30);
    for (index, signal) in signals.as_array_mut().unwrap().iter_mut().enumerate() {
        if spoilt.contains(&index) {
            *signal = json!({"customerId": "c", "eventType": "view", "data": {"n": index, "x": "a-spoilt-value"}});
        }
    }
    json!({"signals": signals})
}

#[tokio::test]
async fn signal_that_dynamodb_rejects_is_rejected_alone() {
    let (stack, proxy, key) = behind(Fault::Invalid.where_body_has("a-spoilt-value")).await;
    let answer = stack.send(RequestBuilder::signals(body(&[3])).key(&key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!((&answer.json()["accepted"], &answer.json()["rejected"]), (&json!(29), &json!(1)));
    assert_eq!(answer.field_errors(), [("/signals/3".to_owned(), "refused-by-store".to_owned())]);
    assert_eq!(stored(&stack).await, (0..30).filter(|n| *n != 3).collect::<Vec<_>>());
    assert_eq!(proxy.counts().of("PutItem"), 26, "the batch that it spoilt one by one, and its own rejected record");
}

#[tokio::test]
async fn transient_faults_add_no_rejected_signal() {
    let refused = Fault::Invalid.where_body_has("a-spoilt-value");
    let (stack, _proxy, key) = behind(Plan::of([refused, Fault::ResetAfter.at(5), Fault::Throttled.at(9)])).await;
    let answer = stack.send(RequestBuilder::signals(body(&[0, 24, 29])).key(&key)).await;
    assert_eq!((answer.status, &answer.json()["accepted"]), (200, &json!(27)), "{}", answer.text);
    let pointers: Vec<_> = answer.field_errors().into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/signals/0", "/signals/24", "/signals/29"]);
    assert_eq!(stored(&stack).await, (0..30).filter(|n| ![0, 24, 29].contains(n)).collect::<Vec<_>>());
}

#[tokio::test]
async fn batch_that_dynamodb_rejects_whole_is_a_400() {
    let (stack, _proxy, key) = behind(Fault::Invalid.where_body_has("view")).await;
    let answer = stack.send(RequestBuilder::signals(body(&[])).key(&key)).await;
    answer.assert_problem(400, "validation-failed");
    assert_eq!((&answer.json()["accepted"], &answer.json()["rejected"]), (&json!(0), &json!(30)));
    assert_eq!(stored(&stack).await, Vec::<usize>::new());
}

#[tokio::test]
async fn customer_that_dynamodb_rejects_is_a_400_without_its_text() {
    let (stack, _proxy, key) = behind(Fault::Invalid.always()).await;
    let answer = stack.send(customer().key(&key)).await;
    answer.assert_problem(400, "validation-failed");
    assert_eq!(answer.field_errors(), [("/customerData".to_owned(), "refused-by-store".to_owned())]);
    assert!(!answer.text.contains("on purpose"), "{}", answer.text);
}
