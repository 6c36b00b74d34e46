//! Why a request was refused: the status and the code that the client got, and the reason that only
//! the inspector shows.

use serde_json::json;
use testkit::LocalStack;

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
    let large = vec![b' '; 10 * 1024 * 1024 + 1];
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
        Refused {
            body: &large,
            status: 413,
            reason: Some("larger than 10 MB"),
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
