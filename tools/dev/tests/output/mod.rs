//! What `cargo dev` prints while it runs, and what it answers without the functions.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::workspace::TestWorkspace;

#[test]
fn raw_log_is_that_of_the_functions_in_json() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&["--raw"]);
    running.post("/api/customers", "{}");
    running.wait_for_line("/api/customers\",\"status\":400");
    running.send_unix_signal("INT");
    let stdout = running.end().stdout;
    let line = stdout
        .lines()
        .find(|line| line.starts_with("{\"timestamp\""));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(
        (&line["code"], &line["accountId"]),
        (&json!("validation-failed"), &json!("dev"))
    );
    assert!(!stdout.contains("Z  POST"), "{stdout}");
}

#[test]
fn log_of_the_functions_is_readable() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&["--faults", "1"]);
    running.post("/api/customers", r#"{"customerId":"c","customerData":{}}"#);
    running.wait_for_line("ERROR a message could not be drained");
    running.send_unix_signal("INT");
    let stdout = running.end().stdout;
    assert!(stdout.contains("  deferred (DynamoDB: "), "{stdout}");
    assert!(!stdout.contains("\"timestamp\""), "{stdout}");
}

/// The response to a request for nothing.
fn send(port: u16, host: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "GET /nothing?key=secret HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn unknown_path_is_the_404_of_api_gateway_and_a_line_in_the_log() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&["--host-name", "intake"]);
    let port = running
        .address()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let response = send(port, "intake:9000");
    assert!(send(port, "page.example:9000").starts_with("HTTP/1.1 403 Forbidden\r\n"));
    running.send_unix_signal("INT");

    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\n"),
        "{head}"
    );
    assert_eq!(body, "{\"message\":\"Not Found\"}");
    let stdout = running.end().stdout;
    let line = stdout
        .lines()
        .find(|line| line.contains("/nothing"))
        .unwrap()
        .split_whitespace()
        .skip(1)
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        line.starts_with("GET /nothing 404 ") && line.contains(" ms no such path: the paths are /"),
        "{line}"
    );
    assert!(
        stdout.ends_with("the Host is another one: see --host-name\n"),
        "{stdout}"
    );
}
