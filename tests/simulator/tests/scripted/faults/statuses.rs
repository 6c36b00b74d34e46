//! Responses without an error code, as of a proxy or a load balancer: their status decides.

use std::time::Duration;

use aws::call_error::CallError;
use aws::deadline::Deadline;
use serde_json::{Value, json};
use simulator::aws::faults::{Fault, Target};
use simulator::environment::overflow_queue;

use crate::support::request_builder::RequestBuilder;
use crate::support::requests::{customer, request_without_identifier};
use crate::support::stack::{Stack, assert_unavailable, refusing_queue};

#[tokio::test(start_paused = true)]
async fn item_that_alone_is_too_large_for_a_proxy_is_refused_and_its_neighbours_are_stored() {
    let stack = Stack::start([Fault::Status(413).where_body_has("too-much")]);
    let signal = |text: &str| json!({"customerId": "c", "eventType": "e", "data": {"x": text}});
    let signals: Value = [signal("a"), signal("too-much"), signal("b")].into();
    let call = RequestBuilder::signals(json!({"signals": signals}));
    let response = stack.request(call).await;
    assert_eq!(response.json()["accepted"], 2, "{}", response.text);
    assert_eq!(
        response.field_errors(),
        [("/signals/1".to_owned(), "refused-by-store".to_owned())]
    );
    let profile = json!({"customerId": "c", "customerData": {"city": "too-much"}});
    let response = stack.request(RequestBuilder::customer(profile)).await;
    response.assert_problem(400, "validation-failed");
}

#[tokio::test(start_paused = true)]
async fn other_refusal_is_not_repeated_and_blames_no_data() {
    for status in [400, 401, 403, 404, 431] {
        let stack = Stack::start([Fault::Status(status).always(), refusing_queue()]);
        for (call, operation) in [
            (customer(), "UpdateItem"),
            (request_without_identifier(1), "BatchWriteItem"),
        ] {
            assert_unavailable(&stack.request(call).await);
            let calls = stack.calls_of(operation);
            assert_eq!(calls, 1, "{operation} with {status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn queue_says_why_it_did_not_take_a_message() {
    for (fault, cause) in [
        (Fault::Status(503), CallError::ServerError),
        (Fault::Lost, CallError::DispatchFailure),
        (
            Fault::Refused("ExpiredTokenException"),
            CallError::InvalidCredentials,
        ),
    ] {
        let stack = Stack::start([fault.clone().always().on(Target::Sqs)]);
        let queue = overflow_queue(&stack.operator);
        let account = "shop".parse().unwrap();
        let deadline = Deadline::after(Duration::from_secs(10));
        let messages = vec!["message".to_owned()];
        let sent = queue.send_all(messages, &account, deadline).await;
        assert_eq!(sent, Err(cause), "{fault:?}");
    }
}
