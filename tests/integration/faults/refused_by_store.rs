//! DynamoDB rejects an item that passed every validation (docs/api.md, Signals and Customers).

use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, Plan};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::requests::{
    customer, request_with_identifier, request_without_identifier, signals, stored_numbers,
};

/// Thirty signals. Those at `invalid` contain the text at which the proxy makes DynamoDB reject a
/// call.
fn body(invalid: &[usize]) -> Value {
    let mut signals = signals(30);
    for (index, signal) in signals.as_array_mut().unwrap().iter_mut().enumerate() {
        if invalid.contains(&index) {
            *signal = json!({"customerId": "c", "eventType": "view", "data": {"n": index, "x": "an-invalid-value"}});
        }
    }
    json!({"signals": signals})
}

#[tokio::test]
async fn signal_that_dynamodb_rejects_is_rejected_alone() {
    let AppBehindProxy { app, proxy, key } =
        app_behind_proxy(Fault::Invalid.where_body_has("an-invalid-value")).await;
    let response = app
        .send(RequestBuilder::signals(body(&[3])).key(&key))
        .await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(response.json()["accepted"], 29);
    assert_eq!(response.json()["rejected"], 1);
    assert_eq!(
        response.field_errors(),
        [("/signals/3".to_owned(), "refused-by-store".to_owned())]
    );
    assert_eq!(
        stored_numbers(&app).await,
        (0..30).filter(|n| *n != 3).collect::<Vec<_>>()
    );
    let counts = proxy.counts();
    assert_eq!(
        counts.calls_of("BatchWriteItem"),
        28,
        "two batches, 25 of one signal each, and the rejected signal"
    );
    assert_eq!(counts.calls_of("PutItem"), 0);
}

#[tokio::test]
async fn batch_that_dynamodb_rejects_whole_is_a_400() {
    let AppBehindProxy { app, proxy, key } =
        app_behind_proxy(Fault::Invalid.where_body_has("view")).await;
    // The first attempt, and a retry: nothing is stored, so nothing is replayed.
    for _ in 0..2 {
        let response = app.send(request_with_identifier(30).key(&key)).await;
        response.assert_problem(400, "validation-failed");
        let counts = ["accepted", "rejected", "replayed"].map(|name| response.json()[name].clone());
        assert_eq!(counts, [json!(0), json!(30), json!(false)]);
    }
    assert_eq!(stored_numbers(&app).await, Vec::<usize>::new());
    proxy.set(Plan::none());
    let response = app.send(request_with_identifier(30).key(&key)).await;
    assert_eq!(response.json()["accepted"], 30, "{}", response.text);
}

#[tokio::test]
async fn customer_that_dynamodb_rejects_is_a_400_without_its_text() {
    let AppBehindProxy {
        app,
        proxy: _proxy,
        key,
    } = app_behind_proxy(Fault::Invalid.always()).await;
    let response = app.send(customer().key(&key)).await;
    response.assert_problem(400, "validation-failed");
    assert_eq!(
        response.field_errors(),
        [("/customerData".to_owned(), "refused-by-store".to_owned())]
    );
    assert!(!response.text.contains("on purpose"), "{}", response.text);
}

#[tokio::test]
async fn signal_left_unprocessed_beside_a_refused_one_is_written_again() {
    // The first call is refused, so each signal gets one of its own; DynamoDB does nothing of the
    // first of those.
    let refused = Fault::Invalid.on_call(1).for_operation("BatchWriteItem");
    let unprocessed = Fault::Unprocessed { done: 0 }
        .on_call(2)
        .for_operation("BatchWriteItem");
    let AppBehindProxy { app, proxy, key } =
        app_behind_proxy(Plan::new([refused, unprocessed])).await;
    let response = app.send(request_without_identifier(3).key(&key)).await;
    assert_eq!(response.json()["accepted"], 3, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, [0, 1, 2]);
    assert_eq!(proxy.counts().calls_of("BatchWriteItem"), 5);
}
