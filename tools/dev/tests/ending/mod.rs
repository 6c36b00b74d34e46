//! How `cargo dev` ends: with the answers to the requests under way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use emulator::development_key::API_KEY;

use crate::workspace::{HangupAction, TestWorkspace};

#[test]
fn sigint_sigterm_and_sighup_end_the_stack() {
    for signal in ["INT", "TERM", "HUP"] {
        let workspace = TestWorkspace::new();
        let mut running = workspace.start_with_hangup(HangupAction::Default);
        running.wait_for_line("Intake is running");
        running.send_unix_signal(signal);
        let ended = running.end();
        assert!(ended.status.success(), "{signal}: {}", ended.stderr);
        assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
        assert!(!workspace.exists("target/dev.env"), "{signal}");
    }
}

/// Elsewhere it is not known whether a signal is ignored.
#[cfg(target_os = "linux")]
#[test]
fn stack_that_was_started_with_nohup_survives_its_terminal() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start_with_hangup(HangupAction::Ignore);
    running.wait_for_line("Intake is running");
    // A stack that ends may still answer the first request.
    for _ in 0..3 {
        running.send_unix_signal("HUP");
        let response = running.post("/api/customers", "{}");
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    }
    running.send_unix_signal("TERM");
    let ended = running.end();
    assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
}

#[test]
fn request_under_way_gets_its_answer_and_an_idle_connection_delays_nothing() {
    let workspace = TestWorkspace::new();
    let mut running = workspace.start(&[]);
    let address = running.address();
    let _idle = TcpStream::connect(&address).unwrap();
    let body = r#"{"customerId":"c","customerData":{}}"#;
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /api/customers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {API_KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    )
    .unwrap();
    let mut response = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    response.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");

    running.send_unix_signal("INT");
    stream.write_all(body.as_bytes()).unwrap();
    let mut text = String::new();
    response.read_to_string(&mut text).unwrap();
    assert!(text.trim_start().starts_with("HTTP/1.1 200 OK"), "{text}");
    assert!(text.contains("\"result\":\"created\""), "{text}");
    assert!(running.end().stderr.ends_with("Stopped.\n"));
}

#[test]
fn stack_whose_output_nobody_reads_serves_and_ends() {
    let workspace = TestWorkspace::new();
    let (running, mut stdout) = workspace.start_without_reader(&[]);
    workspace.wait_for("target/dev.env");
    let variables = workspace.read("target/dev.env");
    let base_url = variables.lines().next().unwrap();
    let address = base_url.strip_prefix("BASE_URL=http://").unwrap();
    // The lines of these requests do not fit into a pipe.
    let path = "x".repeat(10_000);
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        write!(
            stream,
            "GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    }

    running.send_unix_signal("TERM");
    let ended = running.end();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
    assert!(!workspace.exists("target/dev.env"));
    let mut printed = String::new();
    stdout.read_to_string(&mut printed).unwrap();
    assert!(printed.contains("Intake is running"), "{printed}");
}
