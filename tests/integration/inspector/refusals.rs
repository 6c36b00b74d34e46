//! Why a request was refused: the status and the code that the client got, and the reason that only
//! the inspector shows.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use harness::LocalStack;
use serde_json::json;

use super::{Inspector, SIGNALS, assert_members};

/// A request that is refused.
struct Refused<'a> {
    method: &'a str,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
    status: u16,
    code: Option<&'a str>,
    reason: Option<&'a str>,
}

impl Refused<'_> {
    fn assert_reason(&self, stack: &LocalStack, inspector: &Inspector<'_>) {
        let response = stack.send(self.method, self.path, self.headers, self.body);
        assert_eq!(
            response.status, self.status,
            "{} {}",
            self.method, self.path
        );
        let expected = json!({
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "code": self.code,
            "reason": self.reason,
        });
        assert_members(&inspector.newest(), &expected);
    }
}

/// A refused batch. The cases replace what is special about them.
const BATCH: Refused<'_> = Refused {
    method: "POST",
    path: SIGNALS,
    headers: &[],
    body: b"{}",
    status: 404,
    code: None,
    reason: None,
};

const PATHS: &str = "the paths are /api/customers, /api/sdk/ping, /api/event-flows/signal";

#[test]
fn request_refused_by_the_gateway_is_shown_with_the_reason() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    for refused in [
        Refused {
            method: "GET",
            path: "/api/nothing?key=1",
            headers: &[],
            body: b"",
            status: 404,
            code: None,
            reason: Some(&format!("no such path: {PATHS}")),
        },
        Refused {
            path: "//api/event-flows/signal",
            reason: Some(&format!(
                "no such path: remove the slash at the end of the base address: {PATHS}"
            )),
            ..BATCH
        },
        Refused {
            path: "/api/event-flows/signal/",
            reason: Some(&format!(
                "no such path: remove the slash at the end: {PATHS}"
            )),
            ..BATCH
        },
    ] {
        refused.assert_reason(&stack, &inspector);
    }
    stack.stop("TERM");
}

#[test]
fn request_refused_by_the_function_is_shown_with_the_code_and_the_reason() {
    let stack = LocalStack::start(&["--cors", "http://own.example"]);
    let inspector = Inspector(&stack);
    let large = vec![b' '; 5 * 1024 * 1024];
    for refused in [
        Refused {
            method: "GET",
            path: "/api/sdk/ping",
            headers: &[("Authorization", "Bearer unknown")],
            body: b"",
            status: 401,
            code: Some("unauthorized"),
            reason: Some("unknown"),
        },
        Refused {
            headers: &[("Origin", "http://own.example"), ("Authorization", "")],
            status: 401,
            code: Some("unauthorized"),
            reason: Some(
                "missing: the request has no Authorization header (a page sends one only after a preflight, so \
                 neither with mode: \"no-cors\" nor with sendBeacon)",
            ),
            ..BATCH
        },
        Refused {
            headers: &[("Content-Type", "text/plain")],
            status: 415,
            code: Some("unsupported-media-type"),
            ..BATCH
        },
        Refused {
            body: b"{",
            status: 400,
            code: Some("malformed-json"),
            ..BATCH
        },
        Refused {
            body: &large,
            status: 413,
            code: Some("payload-too-large"),
            ..BATCH
        },
    ] {
        refused.assert_reason(&stack, &inspector);
    }
    stack.stop("TERM");
}

const PREFLIGHT_OF_ANOTHER_PAGE: [(&str, &str); 4] = [
    ("Origin", "http://page.example"),
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "authorization"),
    ("Authorization", ""),
];

const PREFLIGHT_OF_A_FILE: [(&str, &str); 3] = [
    ("Origin", "null"),
    ("Access-Control-Request-Method", "POST"),
    ("Authorization", ""),
];

const PREFLIGHT_WITH_ANOTHER_HEADER: [(&str, &str); 4] = [
    ("Origin", "http://own.example"),
    ("Access-Control-Request-Method", "POST"),
    (
        "Access-Control-Request-Headers",
        "Content-Type, x-shop, x-own",
    ),
    ("Authorization", ""),
];

const PREFLIGHT_WITH_ANOTHER_METHOD: [(&str, &str); 3] = [
    ("Origin", "http://own.example"),
    ("Access-Control-Request-Method", "patch"),
    ("Authorization", ""),
];

#[test]
fn refused_preflight_is_shown_with_the_reason() {
    let stack = LocalStack::start(&["--cors", "http://own.example", "--cors-header", "X-Shop"]);
    let inspector = Inspector(&stack);
    let preflight = |path, headers, reason| Refused {
        method: "OPTIONS",
        path,
        headers,
        body: b"",
        status: 204,
        code: None,
        reason: Some(reason),
    };
    for refused in [
        preflight(
            SIGNALS,
            &PREFLIGHT_OF_ANOTHER_PAGE,
            "browser page at http://page.example is not allowed: add --cors http://page.example",
        ),
        preflight(
            SIGNALS,
            &PREFLIGHT_OF_A_FILE,
            "browser page at null is not allowed: a page that is opened as a file, or in a sandbox, has no origin: \
             serve the page over HTTP",
        ),
        preflight(
            SIGNALS,
            &PREFLIGHT_WITH_ANOTHER_HEADER,
            "no page may send the header x-own, so the browser sends no request: add --cors-header x-own",
        ),
        preflight(
            "/api/customers",
            &PREFLIGHT_WITH_ANOTHER_METHOD,
            "no page may send the method patch, so the browser sends no request: allowed are \
             GET,HEAD,PATCH,POST,OPTIONS",
        ),
    ] {
        refused.assert_reason(&stack, &inspector);
    }
    stack.stop("TERM");
}

const ALLOWED_PREFLIGHT: [(&str, &str); 3] = [
    ("Origin", "http://own.example"),
    ("Access-Control-Request-Method", "POST"),
    ("Authorization", ""),
];

#[test]
fn preflight_that_no_request_follows_has_the_likely_reason() {
    let stack = LocalStack::start(&["--cors", "http://own.example"]);
    let inspector = Inspector(&stack);
    stack.send("OPTIONS", "/api/customers", &ALLOWED_PREFLIGHT, b"");
    stack.send("OPTIONS", SIGNALS, &ALLOWED_PREFLIGHT, b"");
    stack.send("POST", SIGNALS, &[("Origin", "http://own.example")], b"{}");
    let reason = |n: u64| inspector.get(&format!("/requests/{n}"))["reason"].clone();
    let began = Instant::now();
    while reason(1).is_null() {
        assert!(began.elapsed() < Duration::from_mins(1), "no reason came");
        std::thread::yield_now();
    }
    let told = reason(1);
    let told = told.as_str().unwrap();
    assert!(told.starts_with("no request followed: "), "{told}");
    assert!(told.contains("credentials"), "{told}");
    assert!(reason(2).is_null(), "its request followed");
    stack.stop("TERM");
}

/// Sends these bytes, and returns the first line of the response.
fn first_line(stack: &LocalStack, bytes: &[u8]) -> String {
    let address = stack.variable("BASE_URL").replace("http://", "");
    let mut client = TcpStream::connect(address).unwrap();
    // The server may close the connection before all of it is sent.
    let _ = client.write_all(bytes);
    let _ = client.shutdown(Shutdown::Write);
    let mut response = Vec::new();
    let _ = client.read_to_end(&mut response);
    let response = String::from_utf8_lossy(&response);
    response.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn what_is_no_http_request_is_listed_with_the_reason() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let long_target = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
    let large_head = format!(
        "GET /a HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(600_000)
    );
    for (sent, response, status, path, reason) in [
        (
            &b"GET /a b HTTP/1.1\r\n\r\n"[..],
            "HTTP/1.1 400 Bad Request",
            400,
            "/a",
            "the head of the request cannot be read: ",
        ),
        (
            b"GET /a HTTP/1.1\r\nNo colon\r\n\r\n",
            "HTTP/1.1 400 Bad Request",
            400,
            "/a",
            "the head of the request cannot be read: invalid HTTP header parsed",
        ),
        (
            long_target.as_bytes(),
            "HTTP/1.1 414 URI Too Long",
            414,
            &format!("/{}", "x".repeat(199)),
            "the head of the request cannot be read: URI too long",
        ),
        (
            large_head.as_bytes(),
            "HTTP/1.1 431 Request Header Fields Too Large",
            431,
            "/a",
            "the head of the request cannot be read: message head is too large",
        ),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            "HTTP/1.1 400 Bad Request",
            400,
            "*",
            "the client speaks TLS: its base address must begin with http://",
        ),
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "",
            400,
            "*",
            "the client speaks HTTP/2 without TLS, which this port does not",
        ),
    ] {
        let last = inspector.get("/requests")["last"].clone();
        assert_eq!(first_line(&stack, sent), response, "{reason}");
        let listed = inspector.get(&format!("/requests?after={last}&wait=60s"));
        let request = &listed["requests"][0];
        assert_members(request, &json!({"status": status, "path": path}));
        let told = request["reason"].as_str().unwrap();
        assert!(told.starts_with(reason), "{told}");
    }
    let counts = inspector.get("/counts");
    assert_members(&counts, &json!({"requests": 6, "refused": 0}));
    let event = inspector.call("GET", "/requests/6/event", &[], b"");
    assert_eq!(event.status, 404, "{event:?}");
    stack.stop("TERM");
}
