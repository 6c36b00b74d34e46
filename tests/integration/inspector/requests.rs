//! The list of requests: what was sent, and what became of it.

use std::time::Instant;

use harness::LocalStack;
use serde_json::{Value, json};

use super::{BATCH, Inspector, OWN_PAGE, SIGNALS, assert_members, other_key};
use crate::support::gzip::gzip;

/// Sends a batch of two signals, of which one is rejected.
fn send_batch(stack: &LocalStack) {
    let response = stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    assert_eq!(response.status, 200, "{response:?}");
}

/// Sends a compressed batch with a signal of the type `zipped`. Returns its length in bytes.
fn send_compressed_batch(stack: &LocalStack) -> usize {
    let body = gzip(br#"{"signals":[{"customerId":"z","eventType":"zipped"}]}"#);
    let headers = [("Content-Encoding", "gzip")];
    let response = stack.send("POST", SIGNALS, &headers, &body);
    assert_eq!(response.status, 200, "{response:?}");
    body.len()
}

#[test]
fn request_is_shown_with_what_became_of_it() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key = stack.variable("API_KEY");

    send_batch(&stack);
    let expected = json!({
        "n": 1,
        "status": 200,
        "accepted": 1,
        "rejected": 1,
        "account": "dev",
        "subject": "-c1",
        "types": {"purchase": 1},
        "pointer": "/signals/1/eventType",
        "errors": 1,
        "warnings": 0,
        "fieldCode": "required",
        "result": null,
    });
    assert_members(&inspector.newest(), &expected);
    let detail = inspector.get("/requests/1");
    let expected = json!({"requestBody": BATCH, "requestBytes": BATCH.len()});
    assert_members(&detail, &expected);
    assert!(!detail.to_string().contains(key), "{detail}");
    assert!(detail.to_string().contains("Bearer $API_KEY"), "{detail}");
    let event = inspector.get("/requests/1/event");
    assert_members(&event, &json!({"body": BATCH, "rawPath": SIGNALS}));

    let bytes = send_compressed_batch(&stack);
    let expected = json!({"status": 200, "types": {"zipped": 1}, "requestBytes": bytes});
    assert_members(&inspector.newest(), &expected);

    let update = br#"{"customerId":"c","customerData":{}}"#;
    for result in ["created", "updated"] {
        stack.send("POST", "/api/customers", &[], update);
        assert_eq!(inspector.newest()["result"], result);
    }
    stack.stop("INT");
}

#[test]
fn stack_that_was_started_again_has_another_id() {
    let id = || {
        let stack = LocalStack::start(&[]);
        let inspector = Inspector(&stack);
        let id = inspector.get("/requests")["stack"].clone();
        inspector.reset();
        assert_eq!(inspector.get("/requests?after=1")["stack"], id);
        stack.stop("INT");
        id
    };
    let first = id();
    assert!(first.is_string(), "{first}");
    assert_ne!(id(), first);
}

#[test]
fn requests_are_listed_by_their_members_and_awaited() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    send_batch(&stack);
    send_compressed_batch(&stack);

    let zipped = inspector.get("/requests?after=1&type=zipped");
    assert_eq!(zipped["requests"][0]["n"], 2);
    let failed = inspector.get("/requests?status=4xx&account=dev");
    assert_eq!(failed["requests"], json!([]));
    let successful = inspector.get("/requests?status=200");
    assert_eq!(successful["requests"].as_array().unwrap().len(), 2);

    let of_subject = |path: &str| inspector.get(path)["requests"].as_array().unwrap().len();
    assert_eq!(of_subject("/requests?subject=z"), 1);
    assert_eq!(of_subject("/requests?subject=z&type=purchase"), 0);
    assert_eq!(of_subject("/requests?subject=unknown"), 0);

    let began = Instant::now();
    let none = inspector.get("/requests?after=2&wait=1s");
    assert_members(&none, &json!({"requests": [], "oldest": 1, "last": 2}));
    assert!(began.elapsed().as_secs() >= 1);
    stack.stop("INT");
}

#[test]
fn request_is_found_by_each_subject_of_its_batch_and_by_its_customer() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let batch = br#"{"signals":[{"customerId":"c-1","eventType":"a"},{"customerId":"c-2","eventType":"b"},{"customerId":"c-2","eventType":"c"}]}"#;
    stack.send("POST", SIGNALS, &[], batch);
    let customer = br#"{"customerId":"c-3","customerData":{}}"#;
    stack.send("POST", "/api/customers", &[], customer);
    for (subject, n) in [("c-1", 1), ("c-2", 1), ("c-3", 2)] {
        let found = inspector.get(&format!("/requests?subject={subject}"));
        assert_eq!(found["requests"][0]["n"], n, "{found}");
        assert_eq!(found["requests"].as_array().unwrap().len(), 1, "{found}");
    }
    let listed = inspector.get("/requests")["requests"].clone();
    assert_eq!(listed[0]["subjects"], json!(["c-1", "c-2"]));
    let of_type = inspector.get("/requests?subject=c-2&type=a");
    assert_eq!(of_type["requests"], json!([]), "no signal has both");
    stack.stop("INT");
}

#[test]
fn request_is_replayed_as_sent_or_edited() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    send_batch(&stack);
    send_compressed_batch(&stack);

    let again = inspector.post("/requests/1/replay", "").json();
    assert_members(&again, &json!({"n": 3, "replayed": true}));
    let edited = BATCH.replace("0b0c", "1b0c");
    let edited = inspector.post("/requests/2/replay", &edited).json();
    assert_members(&edited, &json!({"accepted": 1, "replayed": false}));
    stack.stop("INT");
}

#[test]
fn deleted_requests_are_neither_listed_nor_counted() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    send_batch(&stack);
    send_batch(&stack);

    let deleted = inspector.call("DELETE", "/requests", &[OWN_PAGE], b"");
    assert_eq!(deleted.status, 204);
    let list = inspector.get("/requests");
    assert_members(&list, &json!({"requests": [], "oldest": 3, "last": 2}));
    assert_eq!(inspector.get("/counts")["requests"], 0);
    assert_eq!(inspector.call("GET", "/requests/1", &[], b"").status, 404);
    stack.stop("INT");
}

const NO_SUCH_ACCOUNT: &str = "account: no key belongs to this account; there are dev";

#[test]
fn wrong_parameter_is_an_error_that_names_the_right_ones() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    for (path, sentence) in [
        (
            "/requests?stat=4xx",
            "unknown field `stat`, expected one of `after`, `wait`, `account`, `type`, `subject`, `text`, `status`",
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
        ("/requests?after=-1", "after: a whole number, such as 12"),
        ("/counts?count=", "count: a whole number, such as 12"),
        (
            "/signals?verdict=ok",
            "unknown variant `ok`, expected one of `stored`, `deferred`, `rejected`, `refused`",
        ),
        (
            "/counts?after=1",
            "unknown field `after`, expected one of `account`, `type`, `subject`, `count`, `wait`",
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
        (
            "/requests/%ff",
            "The path cannot be used: Invalid UTF-8 in ",
        ),
        (
            "/customers/%ff",
            "The path cannot be used: Invalid UTF-8 in ",
        ),
    ] {
        let message = error_message(&inspector, "GET", path, 400, b"");
        assert!(message.contains(sentence), "{path}: {message}");
    }
    stack.stop("TERM");
}

/// The sentence of a response with this status, which is JSON.
fn error_message(
    inspector: &Inspector<'_>,
    method: &str,
    path: &str,
    status: u16,
    body: &[u8],
) -> String {
    let response = inspector.call(method, path, &[OWN_PAGE], body);
    assert_eq!(response.status, status, "{path}: {response:?}");
    assert_eq!(response.header("content-type"), "application/json");
    let error = response.json();
    assert_eq!(error.as_object().unwrap().len(), 1, "{error}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn error_is_json_with_a_sentence() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let no_such_request = "There is no such request, or the list no longer has it.";
    let too_large = vec![b' '; 8 * 1024 * 1024 + 1];
    for (method, path, status, body, sentence) in [
        ("GET", "/requests/7", 404, &b""[..], no_such_request),
        ("GET", "/requests/seven", 404, b"", no_such_request),
        ("GET", "/requests/7/event", 404, b"", no_such_request),
        ("POST", "/requests/7/replay", 404, b"", no_such_request),
        ("GET", "/request", 404, b"", "There is no such path: "),
        ("PUT", "/requests", 405, b"", "The path has other methods: "),
        (
            "POST",
            "/requests/7/replay",
            413,
            &too_large,
            "The body did not arrive whole, or is larger than 8 MiB.",
        ),
        (
            "POST",
            "/rejected/redrive",
            400,
            b"",
            "The body must be a rejected signal, as GET /rejected lists it.",
        ),
        (
            "POST",
            "/rejected/redrive",
            400,
            b"[]",
            "Line 1 of the body is not a line of `rejected list --json`: invalid length 0, expected an object with id and \
             payload",
        ),
    ] {
        let message = error_message(&inspector, method, path, status, body);
        assert!(message.starts_with(sentence), "{path}: {message}");
    }
    stack.stop("TERM");
}

/// A ping with this `Authorization` header, and what the inspector shows of it.
struct ShownAuthorization {
    header: String,
    account: Option<&'static str>,
    shown: Option<&'static str>,
    reason: Option<&'static str>,
}

fn authorization_cases(published_key: &str, key_of_shop: &str) -> [ShownAuthorization; 8] {
    [
        ShownAuthorization {
            header: format!("Bearer {published_key}"),
            account: Some("dev"),
            shown: Some("Bearer $API_KEY"),
            reason: None,
        },
        ShownAuthorization {
            header: format!("Bearer {key_of_shop}"),
            account: Some("shop"),
            shown: Some("Bearer intake_sk_… (74 characters, key_shop)"),
            reason: None,
        },
        ShownAuthorization {
            header: format!("Bearer {}", "u".repeat(40)),
            account: None,
            shown: Some("Bearer uuuu… (40 characters)"),
            reason: Some("unknown"),
        },
        ShownAuthorization {
            header: "Bearer x".to_owned(),
            account: None,
            shown: Some("Bearer … (1 characters)"),
            reason: Some("unknown"),
        },
        ShownAuthorization {
            header: "Bearer ".to_owned(),
            account: None,
            shown: Some("Bearer (no key)"),
            reason: Some("missing: the Authorization header has no key after Bearer"),
        },
        ShownAuthorization {
            header: key_of_shop.to_owned(),
            account: Some("shop"),
            shown: Some("intake_sk_… (74 characters, key_shop)"),
            reason: Some(
                "missing: the Authorization header has no scheme: write Bearer before the key",
            ),
        },
        ShownAuthorization {
            header: "Basic YTpi".to_owned(),
            account: None,
            shown: Some("Basic … (4 characters)"),
            reason: Some("missing: the scheme of the Authorization header is not Bearer"),
        },
        ShownAuthorization {
            header: String::new(),
            account: None,
            shown: None,
            reason: Some("missing: the request has no Authorization header"),
        },
    ]
}

#[tokio::test]
async fn key_is_shown_as_a_fingerprint_unless_it_is_the_published_one() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = other_key(&stack).await;
    let cases = authorization_cases(stack.variable("API_KEY"), &key_of_shop);
    for expected in cases {
        let header = expected.header.as_str();
        stack.send("GET", "/api/sdk/ping", &[("Authorization", header)], b"");
        let newest = inspector.newest();
        assert_eq!(newest["account"], json!(expected.account), "{header}");
        assert_eq!(newest["reason"], json!(expected.reason), "{header}");
        let path = format!("/requests/{}", newest["n"]);
        let detail = inspector.get(&path);
        assert_eq!(authorization(&detail), expected.shown, "{header}");
        assert!(!detail.to_string().contains(&key_of_shop), "{detail}");
        let event = inspector.call("GET", &format!("{path}/event"), &[], b"");
        assert!(!event.text.contains(&key_of_shop), "{event:?}");
    }
    stack.stop("TERM");
}

#[tokio::test]
async fn key_is_not_shown_wherever_the_client_has_put_it() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = other_key(&stack).await;
    let published_key = stack.variable("API_KEY");
    let body = json!({
        "signals": [{"customerId": key_of_shop, "eventType": "purchase", "data": {"a": key_of_shop, "b": published_key}}],
    });
    let headers = [("X-Api-Key", key_of_shop.as_str())];
    let path = format!("{SIGNALS}?key={key_of_shop}&other={published_key}");
    let response = stack.send("POST", &path, &headers, body.to_string().as_bytes());
    assert_eq!(response.status, 200, "{response:?}");

    for path in ["/requests", "/requests/1", "/signals"] {
        let shown = inspector.call("GET", path, &[], b"").text;
        assert!(!shown.contains(&key_of_shop), "{path}: {shown}");
        assert!(!shown.contains(published_key), "{path}: {shown}");
    }
    let detail = inspector.get("/requests/1");
    let shown = "intake_sk_… (74 characters)";
    assert_eq!(
        detail["path"],
        format!("{SIGNALS}?key={shown}&other=$API_KEY")
    );
    let sent_body = detail["requestBody"].as_str().unwrap();
    let sent_body: Value = serde_json::from_str(sent_body).unwrap();
    assert_eq!(
        sent_body["signals"][0]["data"],
        json!({"a": shown, "b": "$API_KEY"})
    );
    // `cargo lambda invoke` needs the development key.
    let event = inspector.call("GET", "/requests/1/event", &[], b"").text;
    assert!(!event.contains(&key_of_shop), "{event}");
    assert!(event.contains(published_key), "{event}");
    stack.stop("TERM");
}

/// The `Authorization` header in the details of a request.
fn authorization(detail: &Value) -> Option<&str> {
    let headers = detail["requestHeaders"].as_array().unwrap();
    let header = headers.iter().find(|header| header[0] == "authorization")?;
    header[1].as_str()
}
