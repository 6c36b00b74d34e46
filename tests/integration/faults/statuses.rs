//! Answers without an error code, as of a proxy or a load balancer: their status decides.

use std::time::Duration;

use aws::cause::Cause;
use aws::deadline::Deadline;
use aws::queue::Queue;
use aws::sdk_config::{connector, sdk_config};
use aws::variables::Variables;
use emulator::sqs::FakeSqs;
use serde_json::{Value, json};
use testkit::RequestBuilder;
use testkit::fault_proxy::{Fault, FaultProxy};

use crate::support::app_behind_proxy::{AppBehindProxy, app_behind_proxy};
use crate::support::requests::{
    assert_unavailable, customer, request_without_identifier, stored_numbers,
};

#[tokio::test]
async fn batch_that_is_too_large_for_a_proxy_is_divided() {
    let fault = Fault::Status(413)
        .on_call(1)
        .for_operation("BatchWriteItem");
    let AppBehindProxy { app, proxy, key } = app_behind_proxy(fault).await;
    let response = app.send(request_without_identifier(20).key(&key)).await;
    assert_eq!(response.json()["accepted"], 20, "{}", response.text);
    assert_eq!(stored_numbers(&app).await, (0..20).collect::<Vec<_>>());
    let calls = proxy.counts().calls_of("BatchWriteItem");
    assert_eq!(calls, 21, "the whole batch, and then each signal alone");
}

#[tokio::test]
async fn item_that_alone_is_too_large_for_a_proxy_is_refused_and_its_neighbours_are_stored() {
    let fault = Fault::Status(413).where_body_has("too-much");
    let AppBehindProxy {
        app,
        proxy: _proxy,
        key,
    } = app_behind_proxy(fault).await;
    let signal = |text: &str| json!({"customerId": "c", "eventType": "e", "data": {"x": text}});
    let signals: Value = [signal("a"), signal("too-much"), signal("b")].into();
    let call = RequestBuilder::signals(json!({"signals": signals}));
    let response = app.send(call.key(&key)).await;
    assert_eq!(response.json()["accepted"], 2, "{}", response.text);
    assert_eq!(
        response.field_errors(),
        [("/signals/1".to_owned(), "refused-by-store".to_owned())]
    );
    let profile = json!({"customerId": "c", "customerData": {"city": "too-much"}});
    let response = app.send(RequestBuilder::customer(profile).key(&key)).await;
    response.assert_problem(400, "validation-failed");
}

#[tokio::test]
async fn other_refusal_is_not_repeated_and_blames_no_data() {
    for status in [400, 401, 403, 404, 431] {
        let AppBehindProxy { app, proxy, key } =
            app_behind_proxy(Fault::Status(status).always()).await;
        for (call, operation) in [
            (customer(), "UpdateItem"),
            (request_without_identifier(1), "BatchWriteItem"),
        ] {
            assert_unavailable(&app.send(call.key(&key)).await);
            let calls = proxy.counts().calls_of(operation);
            assert_eq!(calls, 1, "{operation} with {status}");
        }
    }
}

#[tokio::test]
async fn queue_says_why_it_did_not_take_a_message() {
    for (fault, cause) in [
        (Fault::Status(400), Cause::Other("HTTP 400".to_owned())),
        (Fault::Status(403), Cause::AccessDenied),
        (Fault::Status(404), Cause::Other("HTTP 404".to_owned())),
        (Fault::Status(413), Cause::Other("HTTP 413".to_owned())),
        (Fault::Status(429), Cause::Throttled),
        (Fault::Status(500), Cause::ServerError),
        (Fault::Status(503), Cause::ServerError),
        (Fault::ResetBefore, Cause::DispatchFailure),
        (Fault::SignatureExpired, Cause::ClockSkew),
        (Fault::ExpiredToken, Cause::InvalidCredentials),
    ] {
        let sqs = FakeSqs::start().await.unwrap();
        let proxy = FaultProxy::start(&sqs.endpoint(), fault.always())
            .await
            .unwrap();
        let queue = queue_at(&proxy.endpoint());
        let account = "shop".parse().unwrap();
        let deadline = Deadline::after(Duration::from_secs(10));
        let sent = queue
            .send_all(vec!["message".to_owned()], &account, deadline)
            .await;
        assert_eq!(sent, Err(cause), "{fault:?}");
    }
}

/// A queue of an SQS at this endpoint.
pub(super) fn queue_at(endpoint: &str) -> Queue {
    let variables: Variables = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_ENDPOINT_URL_SQS", endpoint),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into_iter()
    .collect();
    let connector = connector(&variables).unwrap();
    let config = sdk_config(&variables, &connector).unwrap();
    Queue::new(&config, "http://sqs/1/overflow")
}
