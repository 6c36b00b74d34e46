//! What `cargo dev` prints while it runs, and what it answers without the functions.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail like tests")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::sandbox::Sandbox;

/// What a function prints: something for people and something that is not.
const PRINTS: &str = r#"
echo '{"timestamp":"2026-11-20T22:33:44.123Z","requestId":"r","status":200,"durationMs":1.5,"_aws":{}}'
echo '{"level":"ERROR","message":"panic","location":"a.rs:1:2","target":"service"}'
echo 'printed by a developer'
"#;

#[test]
fn log_of_the_functions_is_readable() {
    let sandbox = Sandbox::new();
    sandbox.function(&format!("{PRINTS} exec sleep 600"));
    let mut running = sandbox.start(&[]);
    running.wait_for_line("printed by a developer");
    running.signal("INT");

    let stdout = running.end().stdout;
    let lines: Vec<_> = stdout.lines().collect();
    assert!(
        lines[0].ends_with("Z  ERROR panic  location=a.rs:1:2"),
        "{stdout}"
    );
    assert_eq!(lines[1..], ["printed by a developer"]);
}

#[test]
fn raw_log_is_as_it_was_printed() {
    let sandbox = Sandbox::new();
    sandbox.function(&format!("{PRINTS} exec sleep 600"));
    let mut running = sandbox.start(&["--raw"]);
    running.wait_for_line("printed by a developer");
    running.signal("INT");
    let expected: Vec<_> = PRINTS
        .lines()
        .filter_map(|line| line.strip_prefix("echo '")?.strip_suffix('\''))
        .collect();
    assert_eq!(running.end().stdout.lines().collect::<Vec<_>>(), expected);
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
    let sandbox = Sandbox::new();
    sandbox.function("touch running; exec sleep 600");
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let running = sandbox.start(&["--port", &port.to_string(), "--host-name", "intake"]);
    sandbox.wait_for("running");
    let response = send(port, "intake:9000");
    assert!(send(port, "page.example:9000").starts_with("HTTP/1.1 403 Forbidden\r\n"));
    running.signal("INT");

    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\n"),
        "{head}"
    );
    assert_eq!(body, "{\"message\":\"Not Found\"}");
    let stdout = running.end().stdout;
    let line = stdout
        .lines()
        .next()
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
