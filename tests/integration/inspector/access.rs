//! Who may use the inspector: its own page, under its own name.

use harness::LocalStack;

use super::{Inspector, OWN_PAGE};

#[test]
fn request_that_changes_something_without_the_header_of_the_page_is_forbidden() {
    let stack = LocalStack::start(&["--cors", "*"]);
    let inspector = Inspector(&stack);
    for (method, path) in [
        ("DELETE", "/requests"),
        ("POST", "/requests/1/replay"),
        ("POST", "/rejected/redrive"),
        ("POST", "/reset"),
        ("POST", "/answers"),
        ("OPTIONS", "/requests"),
    ] {
        let response = inspector.call(method, path, &[], b"");
        assert_eq!(response.status, 403, "{method} {path}: {response:?}");
        let (header, _) = OWN_PAGE;
        assert!(
            response.text.contains(header),
            "{method} {path}: {response:?}"
        );
    }
    stack.stop("TERM");
}

#[test]
fn request_of_another_page_or_to_another_name_gets_no_response_of_the_inspector() {
    let stack = LocalStack::start(&["--cors", "*"]);
    let inspector = Inspector(&stack);
    for header in [
        ("Host", "rebound.example:9001"),
        ("Host", "rebound.example@localhost"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        let response = inspector.call("GET", "/requests", &[header], b"");
        assert_eq!(response.status, 403, "{header:?}");
    }
    let page = inspector.call("GET", "", &[("Origin", "https://other.example")], b"");
    for name in page.headers.keys() {
        let is_cors = name.as_str().starts_with("access-control-");
        assert!(!is_cors, "{name}");
    }
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    stack.stop("TERM");
}

#[test]
fn link_on_another_site_opens_the_page_and_nothing_else() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let of_a_link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let framed = [of_a_link[0], ("Sec-Fetch-Dest", "iframe")];
    let changing = [of_a_link[0], of_a_link[1], OWN_PAGE];
    let rebound = [of_a_link[0], of_a_link[1], ("Host", "rebound.example:9001")];
    let page = inspector.call("GET", "/", &of_a_link, b"");
    assert_eq!(page.status, 200, "{page:?}");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    for (method, path, headers) in [
        ("GET", "/requests", &of_a_link[..]),
        ("GET", "/requests/1/event", &of_a_link),
        ("POST", "/", &changing),
        ("GET", "/", &of_a_link[..1]),
        ("GET", "/", &framed),
        ("GET", "/", &rebound),
    ] {
        let refused = inspector.call(method, path, headers, b"");
        assert_eq!(refused.status, 403, "{method} {path} {headers:?}");
    }
    stack.stop("TERM");
}

#[test]
fn page_at_localhost_names_the_api_at_localhost() {
    let stack = LocalStack::start(&["--cors", "*"]);
    let inspector = Inspector(&stack);
    let page = inspector.call("GET", "", &[("Host", "localhost:1")], b"");
    let base_url = stack.variable("BASE_URL").replace("127.0.0.1", "localhost");
    assert!(page.text.contains(&base_url), "{}", page.text);
    stack.stop("TERM");
}
