//! Bodies that do not arrive whole, or are too large: the client hears so, and the inspector lists
//! the request with the reason.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use harness::LocalStack;
use serde_json::{Value, json};

use super::{Inspector, SIGNALS, assert_members};

/// What a client sends that is no whole request, and what it gets.
struct BrokenRequest<'a> {
    path: &'a str,
    /// Header lines beside `Host` and `Authorization`.
    headers: &'a str,
    body: &'a str,
    reason: &'a str,
}

/// Sends a request with these headers and this body, ends the client's half of the connection, and
/// returns the whole response.
fn send(stack: &LocalStack, path: &str, headers: &str, body: &[u8]) -> String {
    let address = stack.variable("BASE_URL").replace("http://", "");
    let mut client = TcpStream::connect(&address).unwrap();
    write!(
        client,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\r\n"
    )
    .unwrap();
    client.write_all(body).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    response
}

fn status_and_body(response: &str) -> (&str, Value) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split("\r\n").next().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[test]
fn body_that_does_not_arrive_whole_is_a_400_that_is_listed_with_its_reason() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key = format!("Authorization: Bearer {}\r\n", stack.variable("API_KEY"));
    let cut_off = "the client ended the connection after 5 bytes of the body, before its end";
    let malformed = "the body cannot be read, because its transfer coding is malformed: \
                     Invalid chunk size line: missing size digit";
    let with_key = format!("{key}Content-Length: 500\r\n");
    let chunked = format!("{key}Transfer-Encoding: chunked\r\n");
    for request in [
        BrokenRequest {
            path: SIGNALS,
            headers: &with_key,
            body: "{\"sig",
            reason: cut_off,
        },
        BrokenRequest {
            path: SIGNALS,
            headers: "Content-Length: 500\r\n",
            body: "{\"sig",
            reason: cut_off,
        },
        BrokenRequest {
            path: "/api/nothing",
            headers: &with_key,
            body: "{\"sig",
            reason: cut_off,
        },
        BrokenRequest {
            path: SIGNALS,
            headers: &chunked,
            body: "5\r\n{\"sig",
            reason: cut_off,
        },
        BrokenRequest {
            path: SIGNALS,
            headers: &chunked,
            body: "zz\r\n{}\r\n0\r\n\r\n",
            reason: malformed,
        },
    ] {
        let response = send(
            &stack,
            request.path,
            request.headers,
            request.body.as_bytes(),
        );
        let bad_request = (
            "HTTP/1.1 400 Bad Request",
            json!({"message": "Bad Request"}),
        );
        assert_eq!(status_and_body(&response), bad_request, "{}", request.body);
        let expected = json!({
            "path": request.path,
            "status": 400,
            "reason": request.reason,
            "requestBytes": null,
        });
        assert_members(&inspector.newest(), &expected);
    }
    let counts = inspector.get("/counts");
    assert_members(&counts, &json!({"requests": 5, "distinct": 0}));
    stack.stop("TERM");
}

#[test]
fn request_without_a_whole_body_is_neither_saved_as_an_event_nor_sent_again() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    send(&stack, SIGNALS, "Content-Length: 500\r\n", b"{");
    for (method, path) in [("GET", "/requests/1/event"), ("POST", "/requests/1/replay")] {
        let response = inspector.call(method, path, &[super::OWN_PAGE], b"");
        assert_eq!(response.status, 404, "{path}: {response:?}");
        assert!(
            response.text.contains("The body did not arrive whole."),
            "{path}: {response:?}"
        );
    }
    stack.stop("TERM");
}

#[test]
fn client_that_sends_a_large_body_before_it_reads_gets_the_413() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let large = vec![b' '; 30_000_000];
    let response = send(&stack, SIGNALS, "Content-Length: 30000000\r\n", &large);
    let too_large = (
        "HTTP/1.1 413 Payload Too Large",
        json!({"message": "Request Entity Too Large"}),
    );
    assert_eq!(status_and_body(&response), too_large);
    assert_eq!(inspector.newest()["reason"], "larger than 10 MB");
    stack.stop("TERM");
}

#[test]
fn client_that_waits_before_it_sends_a_large_body_gets_the_413_at_once() {
    let stack = LocalStack::start(&[]);
    let headers = "Content-Length: 30000000\r\nExpect: 100-continue\r\n";
    let response = send(&stack, SIGNALS, headers, b"");
    let (status, _) = status_and_body(&response);
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    stack.stop("TERM");
}
