//! The inspector of `cargo dev`: its API, and who may use it (docs/clients.md, Inspector).
#![expect(clippy::indexing_slicing, reason = "only tests are in here: to panic is to fail the test")]

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use testkit::LocalStack;
use ureq::http::Request;

/// Far longer than any answer takes on a busy machine: only a hang reaches it. The first answer of `cargo intake` waits for its build.
const TIMEOUT: Duration = Duration::from_mins(15);

const BATCH: &str = r#"{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":[{"customerId":"-c1","eventType":"purchase","data":{"price":12345678901234567890.10}},{"customerId":"-c1"}]}"#;

const SIGNALS: &str = "/api/event-flows/signal";

fn call(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).timeout_global(Some(TIMEOUT));
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent: ureq::Agent = config.build().into();
    let mut response = match body {
        b"" => agent.run(request.body(()).unwrap()),
        body => agent.run(request.body(body).unwrap()),
    }
    .unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

struct Inspector<'a>(&'a LocalStack);

impl Inspector<'_> {
    fn call(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        call(method, &format!("{}{path}", self.0.variable("INSPECTOR_URL")), headers, b"")
    }

    fn get(&self, path: &str) -> Value {
        let (status, text) = self.call("GET", path, &[]);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    fn replay(&self, n: u64, body: &str) -> Value {
        let url = format!("{}/requests/{n}/replay", self.0.variable("INSPECTOR_URL"));
        let (status, text) = call("POST", &url, &[("X-Intake-Inspector", "1")], body.as_bytes());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The newest request, with these members.
    fn newest<const N: usize>(&self, names: [&str; N]) -> [Value; N] {
        let list = self.get("/requests");
        let newest = list["requests"].as_array().unwrap().last().unwrap();
        assert_eq!(newest["n"], list["last"]);
        names.map(|name| newest[name].clone())
    }
}

/// Sends a request to the API.
fn send(stack: &LocalStack, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let authorization = format!("Bearer {}", stack.variable("API_KEY"));
    let own = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let own = own.into_iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
    let headers: Vec<_> = own.chain(headers.iter().copied()).filter(|(_, value)| !value.is_empty()).collect();
    call(method, &format!("{}{path}", stack.variable("BASE_URL")), &headers, body).0
}

#[test]
fn inspector_shows_what_was_sent_and_what_became_of_it() {
    let stack = LocalStack::start(&[]);
    let (inspector, key) = (Inspector(&stack), stack.variable("API_KEY"));

    send(&stack, "POST", SIGNALS, &[], BATCH.as_bytes());
    let shown = inspector.newest(["n", "status", "accepted", "rejected", "account", "subject", "types", "pointer"]);
    assert_eq!(json!(shown), json!([1, 200, 1, 1, "dev", "-c1", {"purchase": 1}, "/signals/1/eventType"]));
    let detail = inspector.get("/requests/1");
    assert_eq!((&detail["requestBody"], &detail["requestBytes"]), (&json!(BATCH), &json!(BATCH.len())));
    assert!(!detail.to_string().contains(key) && detail.to_string().contains("Bearer $API_KEY"), "{detail}");
    let event = inspector.get("/requests/1/event");
    assert_eq!((&event["body"], &event["rawPath"]), (&json!(BATCH), &json!(SIGNALS)));

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(br#"{"signals":[{"customerId":"z","eventType":"zipped"}]}"#).unwrap();
    let gzip = gzip.finish().unwrap();
    send(&stack, "POST", SIGNALS, &[("Content-Encoding", "gzip")], &gzip);
    assert_eq!(json!(inspector.newest(["status", "types", "requestBytes"])), json!([200, {"zipped": 1}, gzip.len()]));

    assert_eq!(inspector.get("/requests?after=1&type=zipped")["requests"][0]["n"], 2);
    assert_eq!(inspector.get("/requests?status=4xx")["requests"], json!([]));
    assert_eq!(inspector.get("/requests?status=200")["requests"].as_array().unwrap().len(), 2);
    let began = Instant::now();
    assert_eq!(inspector.get("/requests?after=2&wait=1s"), json!({"requests": [], "last": 2}));
    assert!(began.elapsed().as_secs() >= 1);
    assert_eq!(
        inspector.get("/counts"),
        json!({"requests": 2, "accepted": 2, "rejected": 1, "warnings": 0, "byType": {"purchase": 1, "zipped": 1}})
    );

    let again = inspector.replay(1, "");
    assert_eq!((&again["n"], &again["replayed"]), (&json!(3), &json!(true)));
    let edited = inspector.replay(2, &BATCH.replace("0b0c", "1b0c"));
    assert_eq!((&edited["accepted"], &edited["replayed"]), (&json!(1), &json!(false)), "{edited}");
    assert_eq!(inspector.call("DELETE", "/requests", &[("X-Intake-Inspector", "1")]).0, 204);
    assert_eq!(inspector.get("/requests"), json!({"requests": [], "last": 4}));
    assert_eq!(
        (inspector.get("/counts")["requests"].clone(), inspector.call("GET", "/requests/1", &[]).0),
        (json!(0), 404)
    );
    stack.stop("INT");
}

#[test]
fn inspector_says_why_a_request_was_refused() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let preflight =
        [("Origin", "http://page.example"), ("Access-Control-Request-Method", "POST"), ("Authorization", "")];
    let not_allowed = "browser page at http://page.example is not allowed: add --cors http://page.example";
    let large = vec![b' '; 10 * 1024 * 1024 + 1];
    for (method, path, headers, body, expected) in [
        (
            "GET",
            "/api/sdk/ping",
            &[("Authorization", "Bearer unknown")][..],
            &b""[..],
            json!([401, "unauthorized", "unknown"]),
        ),
        (
            "GET",
            "/api/sdk/ping",
            &[("Authorization", "")],
            b"",
            json!([401, "unauthorized", "missing: no Authorization: Bearer header"]),
        ),
        ("GET", "/api/nothing?key=1", &[], b"", json!([404, null, "no such path"])),
        ("POST", SIGNALS, &[("Content-Type", "text/plain")], b"{}", json!([415, "unsupported-media-type", null])),
        ("POST", SIGNALS, &[], b"{", json!([400, "malformed-json", null])),
        ("POST", SIGNALS, &[], &large[..5 * 1024 * 1024], json!([413, "payload-too-large", null])),
        ("POST", SIGNALS, &[], &large, json!([413, null, "larger than 10 MB"])),
        ("OPTIONS", SIGNALS, &preflight, b"", json!([204, null, not_allowed])),
    ] {
        let status = send(&stack, method, path, headers, body);
        assert_eq!(json!(inspector.newest(["status", "code", "reason"])), expected, "{method} {path}");
        assert_eq!(expected[0], status);
        assert_eq!(json!(inspector.newest(["method", "path"])), json!([method, path]));
    }
    stack.stop("TERM");
}

#[test]
fn inspector_shows_what_is_stored_with_every_digit() {
    // It is read at once: on a busy machine, the queue might have it still.
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    send(&stack, "POST", SIGNALS, &[], BATCH.as_bytes());
    let customer = inspector.call("GET", "/customers/-c1", &[]).1;
    assert!(customer.starts_with(r#"{"profile":null,"signals":[{"#), "{customer}");
    assert!(customer.contains("12345678901234567890.1"), "{customer}");
    let rejected = inspector.get("/rejected");
    assert_eq!(rejected[0]["payload"], json!({"customerId": "-c1"}));
    let mut edited = rejected[0].clone();
    edited["payload"]["eventType"] = json!("mended");
    let url = format!("{}/rejected/redrive", stack.variable("INSPECTOR_URL"));
    let (status, text) = call("POST", &url, &[("X-Intake-Inspector", "1")], edited.to_string().as_bytes());
    assert_eq!((status, inspector.get("/rejected")), (200, json!([])), "{text}");
    stack.stop("TERM");
}

#[test]
fn inspector_answers_no_other_page_and_no_other_name() {
    let stack = LocalStack::start(&["--cors", "*"]);
    let inspector = Inspector(&stack);
    for (method, path) in [
        ("DELETE", "/requests"),
        ("POST", "/requests/1/replay"),
        ("POST", "/rejected/redrive"),
        ("OPTIONS", "/requests"),
    ] {
        let (status, text) = inspector.call(method, path, &[]);
        assert_eq!((status, text.contains("X-Intake-Inspector")), (403, true), "{method} {path}: {text}");
    }
    assert_eq!(inspector.call("GET", "/requests", &[("Host", "rebound.example:9001")]).0, 403);
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).timeout_global(Some(TIMEOUT)).build().into();
    let page = agent.get(stack.variable("INSPECTOR_URL")).header("Origin", "https://other.example").call().unwrap();
    assert!(page.headers().keys().all(|name| !name.as_str().starts_with("access-control-")));
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    stack.stop("TERM");
}
