//! Clients that close their connection before the response: their requests are stored and listed like
//! others.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use harness::LocalStack;
use serde_json::json;

use super::{Inspector, SIGNALS};

/// Sends this batch whole, and closes the connection at once.
fn send_and_leave(stack: &LocalStack, body: &str) {
    let address = stack.variable("BASE_URL").replace("http://", "");
    let key = stack.variable("API_KEY");
    let mut client = TcpStream::connect(&address).unwrap();
    write!(
        client,
        "POST {SIGNALS} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

/// A batch of one signal, without a requestIdentifier.
fn purchase(customer: &str) -> String {
    json!({"signals": [{"customerId": customer, "eventType": "purchase"}]}).to_string()
}

#[test]
fn each_request_of_clients_that_close_at_once_is_stored_and_listed() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    for n in 0..50 {
        send_and_leave(&stack, &purchase(&format!("c{n}")));
    }
    let counts = inspector.get("/counts?count=50&wait=60s");
    assert_eq!(counts["distinct"], 50, "{counts}");
    assert_eq!(counts["requests"], 50, "{counts}");
    stack.stop("TERM");
}

#[test]
fn request_whose_response_is_late_is_listed_when_its_client_gives_up() {
    let stack = LocalStack::start(&["--answer", "timeout:1"]);
    let inspector = Inspector(&stack);
    let sent_at = Instant::now();
    send_and_leave(&stack, &purchase("c1"));
    let request = &inspector.get("/requests?wait=20s")["requests"][0];
    assert!(
        sent_at.elapsed() < Duration::from_secs(20),
        "API Gateway's response comes after 30 s"
    );
    assert_eq!(request["left"], true, "{request}");
    assert_eq!(request["status"], 503, "{request}");
    let counts = inspector.get("/counts");
    assert_eq!(counts["distinct"], 1, "the function stored it: {counts}");
    stack.stop("TERM");
}
