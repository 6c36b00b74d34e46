//! SPEC 2.5: when DynamoDB cannot be had, the answer is a 503, in time, and never a 401 or a 200.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{RequestBuilder, TestApp};
use tokio::net::TcpListener;

const REQUEST: &str = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";

fn calls() -> [RequestBuilder; 3] {
    let signals = json!([{"customerId": "c", "eventType": "t"}]);
    [
        RequestBuilder::customer(json!({"customerId": "c", "customerData": {}})),
        RequestBuilder::signals(json!({"signals": signals})),
        RequestBuilder::signals(json!({"requestIdentifier": REQUEST, "signals": signals})),
    ]
}

#[tokio::test]
async fn refused_connection_is_a_503_on_both_endpoints() {
    let mut stack = TestApp::start();
    let key = stack.key("shop").await;
    assert_eq!(stack.send(RequestBuilder::ping().key(&key)).await.status, 200);
    for call in calls() {
        stack.emulator.stop();
        let answer = stack.send(call.key(&key)).await;
        answer.assert_problem(503, "storage-unavailable");
        assert_eq!(answer.header("retry-after"), "2");
        assert!(answer.json().get("requestIdentifier").is_none());
    }
}

#[tokio::test]
async fn an_endpoint_that_never_answers_is_a_503_before_the_deadline() {
    // Accepts connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let emulator = TestApp::emulator();
    let keys = emulator.endpoint();
    let stack = TestApp::over(emulator, &keys, &endpoint, None);
    let key = stack.key("shop").await;
    let budget = Duration::from_millis(700);
    for call in calls() {
        let began = Instant::now();
        let answer = stack.send(call.key(&key).within(budget)).await;
        answer.assert_problem(503, "storage-unavailable");
        // The reserve that an invocation keeps for its answer is a second.
        assert!(began.elapsed() < budget + Duration::from_secs(1), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_key_table_that_is_down_leaves_the_other_tables_to_keys_that_are_known() {
    let (mut keys, emulator) = (TestApp::emulator(), TestApp::emulator());
    let (keys_at, others_at) = (keys.endpoint(), emulator.endpoint());
    let stack = TestApp::over(emulator, &keys_at, &others_at, None);
    let key = {
        let maker = TestApp::over(TestApp::emulator(), &keys_at, &others_at, None);
        let maker = TestApp { client: testkit::client_at(&keys_at), ..maker };
        maker.key("shop").await
    };
    assert_eq!(stack.send(RequestBuilder::ping().key(&key)).await.status, 200);
    let [customer, signals, _] = calls();
    assert_eq!(stack.send(signals.clone().key(&key)).await.status, 200);
    keys.stop();
    assert_eq!(stack.send(customer.key(&key)).await.status, 200);
    assert_eq!(stack.send(signals.clone().key(&key)).await.status, 200);
    stack.send(signals.key("another")).await.assert_problem(503, "storage-unavailable");
}
