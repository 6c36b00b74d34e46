//! The inspector of `cargo dev`: its API, and who may use it (docs/clients.md, Inspector).
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod contracts;
mod left;
mod signals;

use std::io::Write as _;
use std::time::Instant;

use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::api_key::KeyHash;
use serde_json::{Value, json};
use testkit::{LocalStack, TestResponse, call, client_at};

const BATCH: &str = r#"{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":[{"customerId":"-c1","eventType":"purchase","data":{"price":12345678901234567890.10}},{"customerId":"-c1"}]}"#;

const SIGNALS: &str = "/api/event-flows/signal";

/// What the page of the inspector sends with what changes something.
const OWN_PAGE: (&str, &str) = ("X-Intake-Inspector", "1");

struct Inspector<'a>(&'a LocalStack);

impl Inspector<'_> {
    fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestResponse {
        call(
            method,
            &format!("{}{path}", self.0.variable("INSPECTOR_URL")),
            headers,
            body,
        )
    }

    fn get(&self, path: &str) -> Value {
        let response = self.call("GET", path, &[], b"");
        assert_eq!(response.status, 200, "{path}: {}", response.text);
        response.json()
    }

    fn post(&self, path: &str, body: &str) -> TestResponse {
        let response = self.call("POST", path, &[OWN_PAGE], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text);
        response
    }

    /// The newest request, with these members.
    fn newest<const N: usize>(&self, names: [&str; N]) -> [Value; N] {
        let list = self.get("/requests");
        let newest = list["requests"].as_array().unwrap().last().unwrap();
        assert_eq!(newest["n"], list["last"]);
        names.map(|name| newest[name].clone())
    }
}

#[test]
fn inspector_shows_what_was_sent_and_what_became_of_it() {
    let stack = LocalStack::start(&[]);
    let (inspector, key) = (Inspector(&stack), stack.variable("API_KEY"));

    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let shown = inspector.newest([
        "n", "status", "accepted", "rejected", "account", "subject", "types", "pointer",
    ]);
    assert_eq!(
        json!(shown),
        json!([1, 200, 1, 1, "dev", "-c1", {"purchase": 1}, "/signals/1/eventType"])
    );
    assert_eq!(
        json!(inspector.newest(["errors", "warnings", "fieldCode"])),
        json!([1, 0, "required"])
    );
    let detail = inspector.get("/requests/1");
    assert_eq!(
        (&detail["requestBody"], &detail["requestBytes"]),
        (&json!(BATCH), &json!(BATCH.len()))
    );
    assert!(
        !detail.to_string().contains(key) && detail.to_string().contains("Bearer $API_KEY"),
        "{detail}"
    );
    let event = inspector.get("/requests/1/event");
    assert_eq!(
        (&event["body"], &event["rawPath"]),
        (&json!(BATCH), &json!(SIGNALS))
    );

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(br#"{"signals":[{"customerId":"z","eventType":"zipped"}]}"#)
        .unwrap();
    let gzip = gzip.finish().unwrap();
    stack.send("POST", SIGNALS, &[("Content-Encoding", "gzip")], &gzip);
    assert_eq!(
        json!(inspector.newest(["status", "types", "requestBytes"])),
        json!([200, {"zipped": 1}, gzip.len()])
    );

    assert_eq!(
        inspector.get("/requests?after=1&type=zipped")["requests"][0]["n"],
        2
    );
    assert_eq!(
        inspector.get("/requests?status=4xx&account=dev")["requests"],
        json!([])
    );
    assert_eq!(
        inspector.get("/requests?status=200")["requests"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let began = Instant::now();
    assert_eq!(
        inspector.get("/requests?after=2&wait=1s"),
        json!({"requests": [], "oldest": 1, "last": 2})
    );
    assert!(began.elapsed().as_secs() >= 1);

    let again = inspector.post("/requests/1/replay", "").json();
    assert_eq!((&again["n"], &again["replayed"]), (&json!(3), &json!(true)));
    let edited = inspector
        .post("/requests/2/replay", &BATCH.replace("0b0c", "1b0c"))
        .json();
    assert_eq!(
        (&edited["accepted"], &edited["replayed"]),
        (&json!(1), &json!(false)),
        "{edited}"
    );
    assert_eq!(
        inspector
            .call("DELETE", "/requests", &[OWN_PAGE], b"")
            .status,
        204
    );
    assert_eq!(
        inspector.get("/requests"),
        json!({"requests": [], "oldest": 5, "last": 4})
    );
    assert_eq!(
        (
            inspector.get("/counts")["requests"].clone(),
            inspector.call("GET", "/requests/1", &[], b"").status
        ),
        (json!(0), 404)
    );
    stack.stop("INT");
}

/// A key of the account `shop`, which the stack knows.
async fn other_key(stack: &LocalStack) -> String {
    let key = format!("intake_sk_{}", "a".repeat(64));
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client_at(stack.variable("AWS_ENDPOINT_URL_DYNAMODB"))
        .put_item()
        .table_name("ApiKeysTable");
    let put = put
        .item("keyHash", text(&KeyHash::of(&key).partition_key()))
        .item("keyId", text("key_shop"));
    let put = put
        .item("accountId", text("shop"))
        .item("name", text("shop"));
    put.item("createdAt", text("2026-01-01T00:00:00.000Z"))
        .send()
        .await
        .unwrap();
    key
}

const NO_SUCH_ACCOUNT: &str = "account: no key belongs to this account; there are dev";

#[test]
fn wrong_parameter_is_an_error_that_names_the_right_ones() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    for (path, sentence) in [
        (
            "/requests?stat=4xx",
            "unknown field `stat`, expected one of `after`, `wait`, `account`, `type`, `status`",
        ),
        (
            "/requests?status=9xx",
            "status: a status, such as 401, or a class of them, such as 4xx",
        ),
        (
            "/requests?wait=soon",
            "wait: a number of seconds up to 60, such as 5s",
        ),
        ("/requests?wait=61s", "wait: a number of seconds up to 60"),
        ("/requests?after=-1", "after: invalid digit"),
        (
            "/signals?verdict=ok",
            "unknown variant `ok`, expected one of `stored`, `deferred`, `rejected`, `refused`",
        ),
        (
            "/counts?after=1",
            "unknown field `after`, expected one of `account`, `count`, `wait`",
        ),
        ("/requests?account=dve", NO_SUCH_ACCOUNT),
        ("/signals?account=dve&verdict=rejected", NO_SUCH_ACCOUNT),
        ("/counts?account=dve", NO_SUCH_ACCOUNT),
        ("/customers/c?account=dve", NO_SUCH_ACCOUNT),
        ("/rejected?account=dve", NO_SUCH_ACCOUNT),
        (
            "/customers/c?account=a%23b",
            "account: an account name is 1 to 64 of the characters",
        ),
        (
            "/rejected?customer=c",
            "unknown field `customer`, expected `account`",
        ),
        ("/requests/1?a=b", "unknown field `a`"),
    ] {
        let response = inspector.call("GET", path, &[], b"");
        assert!(
            response.status == 400 && response.text.contains(sentence),
            "{path}: {response:?}"
        );
    }
    stack.stop("TERM");
}

#[tokio::test]
async fn key_is_shown_as_a_fingerprint_unless_it_is_the_published_one() {
    let stack = LocalStack::start(&[]);
    let (inspector, key) = (Inspector(&stack), other_key(&stack).await);
    let bearer = format!("Bearer {}", stack.variable("API_KEY"));
    let (own, other, unknown) = (
        bearer.as_str(),
        format!("Bearer {key}"),
        format!("Bearer {}", "u".repeat(40)),
    );
    for (header, account, shown, reason) in [
        (own, json!("dev"), json!("Bearer $API_KEY"), json!(null)),
        (
            &other,
            json!("shop"),
            json!("Bearer intake_sk_… (74 characters, key_shop)"),
            json!(null),
        ),
        (
            &unknown,
            json!(null),
            json!("Bearer uuuu… (40 characters)"),
            json!("unknown"),
        ),
        (
            "Bearer x",
            json!(null),
            json!("Bearer … (1 characters)"),
            json!("unknown"),
        ),
        (
            "Bearer ",
            json!(null),
            json!("Bearer (no key)"),
            json!("missing: no key after Bearer in the Authorization header"),
        ),
        (
            &key,
            json!("shop"),
            json!("intake_sk_… (74 characters, key_shop)"),
            json!("missing: the Authorization header has no scheme: send Bearer and the key"),
        ),
        (
            "Basic YTpi",
            json!(null),
            json!("Basic … (4 characters)"),
            json!("missing: the Authorization header has the scheme Basic, not Bearer"),
        ),
        (
            "",
            json!(null),
            json!(null),
            json!("missing: no Authorization header"),
        ),
    ] {
        stack.send("GET", "/api/sdk/ping", &[("Authorization", header)], b"");
        let [n, found, why] = inspector.newest(["n", "account", "reason"]);
        let detail = inspector.get(&format!("/requests/{n}"));
        let headers = detail["requestHeaders"].as_array().unwrap();
        let authorization = headers
            .iter()
            .find(|header| header[0] == "authorization")
            .map(|header| &header[1]);
        assert_eq!(
            (&found, authorization.unwrap_or(&json!(null)), &why),
            (&account, &shown, &reason),
            "{header}"
        );
        let event = inspector
            .call("GET", &format!("/requests/{n}/event"), &[], b"")
            .text;
        assert!(
            !detail.to_string().contains(&key) && !event.contains(&key),
            "{detail}"
        );
    }
    stack.stop("TERM");
}

/// A request that is refused, and the status, the code and the reason in the inspector.
struct Refused<'a> {
    method: &'a str,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a [u8],
    expected: Value,
}

impl Refused<'_> {
    fn assert_reason(&self, stack: &LocalStack, inspector: &Inspector<'_>) {
        let Self {
            method,
            path,
            headers,
            body,
            expected,
        } = self;
        let status = stack.send(method, path, headers, body).status;
        let shown = json!(inspector.newest(["status", "code", "reason"]));
        assert_eq!(shown, *expected, "{method} {path}");
        assert_eq!(expected[0], status);
        let shown = json!(inspector.newest(["method", "path"]));
        assert_eq!(shown, json!([method, path]));
    }
}

#[test]
fn inspector_says_why_a_request_was_refused() {
    let stack = LocalStack::start(&["--cors", "http://own.example"]);
    let inspector = Inspector(&stack);
    let paths = "the paths are /api/customers, /api/sdk/ping, /api/event-flows/signal";
    let slash = format!("no such path: remove the slash at the end of the base address: {paths}");
    let behind = format!("no such path: remove the slash at the end: {paths}");
    let beacon = "missing: no Authorization header (a page sends one only after a preflight, so \
                  neither with mode: \"no-cors\" nor with sendBeacon)";
    let large = vec![b' '; 10 * 1024 * 1024 + 1];
    let post = |path, headers, body, expected| Refused {
        method: "POST",
        path,
        headers,
        body,
        expected,
    };
    let get = |path, headers, expected| Refused {
        method: "GET",
        path,
        headers,
        body: b"",
        expected,
    };
    let unknown_key = [("Authorization", "Bearer unknown")];
    let plain_text = [("Content-Type", "text/plain")];
    let page = [("Origin", "http://own.example"), ("Authorization", "")];
    let no_path = format!("no such path: {paths}");
    for refused in [
        get(
            "/api/sdk/ping",
            &unknown_key,
            json!([401, "unauthorized", "unknown"]),
        ),
        get("/api/nothing?key=1", &[], json!([404, null, no_path])),
        post(
            "//api/event-flows/signal",
            &[],
            b"{}",
            json!([404, null, slash]),
        ),
        post(
            "/api/event-flows/signal/",
            &[],
            b"{}",
            json!([404, null, behind]),
        ),
        post(
            SIGNALS,
            &plain_text,
            b"{}",
            json!([415, "unsupported-media-type", null]),
        ),
        post(SIGNALS, &page, b"{}", json!([401, "unauthorized", beacon])),
        post(SIGNALS, &[], b"{", json!([400, "malformed-json", null])),
        post(
            SIGNALS,
            &[],
            &large[..5 * 1024 * 1024],
            json!([413, "payload-too-large", null]),
        ),
        post(
            SIGNALS,
            &[],
            &large,
            json!([413, null, "larger than 10 MB"]),
        ),
    ] {
        refused.assert_reason(&stack, &inspector);
    }
    stack.stop("TERM");
}

#[test]
fn inspector_says_why_a_preflight_was_refused() {
    let stack = LocalStack::start(&["--cors", "http://own.example"]);
    let inspector = Inspector(&stack);
    let preflight = |origin, header| {
        [
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", header),
            ("Authorization", ""),
        ]
    };
    let foreign = preflight("http://page.example", "authorization");
    let with_header = preflight("http://own.example", "Content-Type, x-own");
    let with_method = [
        ("Origin", "http://own.example"),
        ("Access-Control-Request-Method", "patch"),
        ("Authorization", ""),
    ];
    let not_allowed =
        "browser page at http://page.example is not allowed: add --cors http://page.example";
    let header = "no page may send the header x-own, so the browser sends no request: allowed are \
                  authorization,baggage,content-encoding,content-type,prefer,traceparent,tracestate";
    let method = "no page may send the method patch, so the browser sends no request: allowed are \
                  GET,PATCH,POST,OPTIONS";
    let options = |path, headers, reason| Refused {
        method: "OPTIONS",
        path,
        headers,
        body: b"",
        expected: json!([204, null, reason]),
    };
    for refused in [
        options(SIGNALS, &foreign, not_allowed),
        options(SIGNALS, &with_header, header),
        options("/api/customers", &with_method, method),
    ] {
        refused.assert_reason(&stack, &inspector);
    }
    stack.stop("TERM");
}

#[test]
fn inspector_shows_what_is_stored_with_every_digit() {
    // It is read at once: on a busy machine, the queue might have it still.
    let stack = LocalStack::start(&["--no-queue"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let customer = inspector.call("GET", "/customers/-c1", &[], b"").text;
    assert!(
        customer.starts_with(r#"{"profile":null,"signals":[{"#),
        "{customer}"
    );
    assert!(customer.contains("12345678901234567890.1"), "{customer}");
    stack.send(
        "POST",
        "/api/customers",
        &[],
        br#"{"customerId":"c2","customerData":{"firstName":"Ada"}}"#,
    );
    let profile = &inspector.get("/customers/c2")["profile"];
    let names: Vec<_> = profile
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "accountId",
            "createdAt",
            "customerId",
            "firstName",
            "updatedAt"
        ],
        "{profile}"
    );
    let rejected = inspector.get("/rejected");
    assert_eq!(rejected[0]["payload"], json!({"customerId": "-c1"}));
    let mut edited = rejected[0].clone();
    edited["payload"]["eventType"] = json!("mended");
    inspector.post("/rejected/redrive", &edited.to_string());
    assert_eq!(inspector.get("/rejected"), json!([]));
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
        ("POST", "/reset"),
        ("OPTIONS", "/requests"),
    ] {
        let TestResponse { status, text, .. } = inspector.call(method, path, &[], b"");
        assert_eq!(
            (status, text.contains(OWN_PAGE.0)),
            (403, true),
            "{method} {path}: {text}"
        );
    }
    assert_eq!(
        inspector
            .call("GET", "/requests", &[("Host", "rebound.example:9001")], b"")
            .status,
        403
    );
    assert_eq!(
        inspector
            .call("GET", "/requests", &[("Sec-Fetch-Site", "cross-site")], b"")
            .status,
        403
    );
    let page = inspector.call("GET", "", &[("Origin", "https://other.example")], b"");
    assert!(
        page.headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control-"))
    );
    let name = inspector
        .call("GET", "", &[("Host", "localhost:1")], b"")
        .text;
    assert!(
        name.contains(&stack.variable("BASE_URL").replace("127.0.0.1", "localhost")),
        "{name}"
    );
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    stack.stop("TERM");
}
