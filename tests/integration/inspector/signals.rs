//! What a test of a client asks the inspector: signals, counts, and a clean start.

use std::collections::BTreeSet;
use std::time::Instant;

use harness::{LocalStack, call};
use serde_json::{Value, json};

use super::{BATCH, Inspector, SIGNALS, assert_members, other_key};
use crate::support::page::{Page, quoted};

#[tokio::test]
async fn signal_is_listed_with_its_verdict_and_its_error() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = other_key(&stack).await;
    send_six_requests(&stack, &key_of_shop);

    assert_stored_signals_are_as_sent(&inspector);
    let listed = |path: &str| -> Vec<Value> {
        let signals = inspector.get(path)["signals"].clone();
        signals.as_array().unwrap().iter().map(summary).collect()
    };
    assert_eq!(listed("/signals"), signals_of_six_requests());
    assert_eq!(
        listed("/signals?account=shop&type=purchase"),
        [valid_in_strict_batch()]
    );
    assert_eq!(listed("/signals?after=3&type=other"), Vec::<Value>::new());
    let signals = &inspector.get("/signals?after=3&count=2")["signals"];
    let message = signals[0]["errors"][0]["message"].as_str().unwrap();
    assert!(message.ends_with(" (unknown)"), "{message}");
    stack.stop("TERM");
}

/// The signals of the batch that was stored, and then replayed, with the digits that were sent.
fn assert_stored_signals_are_as_sent(inspector: &Inspector<'_>) {
    let requests = inspector.get("/requests")["requests"].clone();
    let text = inspector
        .call("GET", "/signals?subject=-c1&verdict=stored", &[], b"")
        .text;
    let price = r#""data":{"price":12345678901234567890.10}"#;
    let stored = |request: u64, replayed: bool| {
        let time = &requests[usize::try_from(request).unwrap() - 1]["time"];
        format!(
            r#"{{"request":{request},"account":"dev","time":{time},"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","index":0,"type":"purchase","subject":"-c1","verdict":"stored","replayed":{replayed},"errors":[],"warnings":[],{price},"contract":null,"breaks":null}}"#
        )
    };
    let first = stored(1, false);
    let replayed = stored(2, true);
    let expected = format!(r#"{{"signals":[{first},{replayed}],"oldest":1,"last":6,"stack":""#);
    assert!(text.starts_with(&expected), "{text}");
}

/// What the inspector lists of a signal of a strict batch, which is rejected as a whole because of
/// the other signal.
fn valid_in_strict_batch() -> Value {
    json!({
        "request": 3, "index": 0, "verdict": "rejected", "account": "shop", "code": null,
        "pointer": null,
    })
}

/// What the inspector lists of all signals of the six requests.
fn signals_of_six_requests() -> [Value; 9] {
    let stored = |request: u64| {
        json!({
            "request": request, "index": 0, "verdict": "stored", "account": "dev", "code": null,
            "pointer": null,
        })
    };
    let without_type = |request: u64, account: &str| {
        json!({
            "request": request, "index": 1, "verdict": "rejected", "account": account,
            "code": "required", "pointer": "/signals/1/eventType",
        })
    };
    let unauthorized = |index: u64| {
        json!({
            "request": 4, "index": index, "verdict": "refused", "account": null,
            "code": "unauthorized", "pointer": "",
        })
    };
    let malformed = json!({
        "request": 5, "index": null, "verdict": "refused", "account": "dev",
        "code": "malformed-json", "pointer": "",
    });
    [
        stored(1),
        without_type(1, "dev"),
        stored(2),
        without_type(2, "dev"),
        valid_in_strict_batch(),
        without_type(3, "shop"),
        unauthorized(0),
        unauthorized(1),
        malformed,
    ]
}

#[test]
fn rejected_signal_is_listed_and_counted_also_with_a_member_twice_or_a_name_that_is_no_unicode() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let body = r#"{"signals":[
        {"customerId":"c","eventType":"first","eventType":"purchase"},
        {"customerId":"c","eventType":"purchase","data":{"a":1},"\ud800":1}]}"#;
    let response = stack.send("POST", SIGNALS, &[], body.as_bytes());
    assert_eq!(response.json()["rejected"], 2, "{response:?}");

    // As text, because serde_json reads no unpaired surrogate.
    let rejected = inspector.call("GET", "/rejected", &[], b"").text;
    let of_subject = rejected.matches(r#""subjectId":"c""#);
    assert_eq!(of_subject.count(), 2, "{rejected}");
    let listed = inspector.get("/signals?type=purchase&verdict=rejected&subject=c");
    let listed = listed["signals"].as_array().unwrap();
    let codes: Vec<_> = listed.iter().map(|one| &one["errors"][0]["code"]).collect();
    assert_eq!(codes, ["duplicate-member", "invalid-type"]);
    assert_eq!(listed[1]["data"], json!({"a": 1}));
    let counts = inspector.get("/counts");
    assert_eq!(counts["byType"]["purchase"]["rejected"], 2, "{counts}");
    stack.stop("TERM");
}

/// Sends the same batch twice, the batch in strict mode with the key of another account, the batch
/// with an unknown key, a body that is no JSON, and a ping.
fn send_six_requests(stack: &LocalStack, key_of_shop: &str) {
    let batch = BATCH.as_bytes();
    stack.send("POST", SIGNALS, &[], batch);
    stack.send("POST", SIGNALS, &[], batch);
    let bearer = format!("Bearer {key_of_shop}");
    let strict_of_shop = [
        ("Authorization", bearer.as_str()),
        ("Prefer", "handling=strict"),
    ];
    stack.send("POST", SIGNALS, &strict_of_shop, batch);
    let unknown_key = [("Authorization", "Bearer unknown")];
    stack.send("POST", SIGNALS, &unknown_key, batch);
    stack.send("POST", SIGNALS, &[], b"{");
    stack.send("GET", "/api/sdk/ping", &[], b"");
}

/// A listed signal without its content, and with the first of its errors.
fn summary(signal: &Value) -> Value {
    let error = signal["errors"].get(0).unwrap_or(&Value::Null);
    json!({
        "request": signal["request"],
        "index": signal["index"],
        "verdict": signal["verdict"],
        "account": signal["account"],
        "code": error["code"],
        "pointer": error["pointer"],
    })
}

#[tokio::test]
async fn signals_are_counted_once_by_account_and_type() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = other_key(&stack).await;
    send_six_requests(&stack, &key_of_shop);

    let expected = json!({
        "requests": 6, "warnings": 0, "otherTypes": 0,
        "stored": 2, "deferred": 0, "rejected": 4, "refused": 3, "replayed": 2, "distinct": 1,
        "byType": {"purchase": {
            "stored": 2, "deferred": 0, "rejected": 1, "refused": 1, "replayed": 1, "distinct": 1,
        }},
        "contracts": {"ok": 0, "broken": 0, "none": 0}, "oldest": 1,
    });
    assert_eq!(inspector.get("/counts?count=9"), expected);
    let of_dev = json!({
        "requests": 4, "rejected": 2,
        "byType": {"purchase": {
            "stored": 2, "deferred": 0, "rejected": 0, "refused": 0, "replayed": 1, "distinct": 1,
        }},
    });
    assert_members(&inspector.get("/counts?account=dev"), &of_dev);
    let of_shop = json!({
        "requests": 1, "rejected": 2,
        "byType": {"purchase": {
            "stored": 0, "deferred": 0, "rejected": 1, "refused": 0, "replayed": 0, "distinct": 0,
        }},
    });
    assert_members(&inspector.get("/counts?account=shop"), &of_shop);
    stack.stop("TERM");
}

#[test]
fn signals_are_counted_by_type_and_subject() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let batch = br#"{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":[
        {"customerId":"c-1","eventType":"viewed"},{"customerId":"c-2","eventType":"viewed"},
        {"customerId":"c-2","eventType":"purchase"},{"customerId":"c-2","eventType":"purchase","eventflowIdentifier":"no UUID"}]}"#;
    for _ in 0..2 {
        stack.send("POST", SIGNALS, &[], batch);
    }
    stack.send("GET", "/api/sdk/ping", &[], b"");
    let counts = |path: &str| inspector.get(path);
    let expected = json!({"requests": 2, "stored": 4, "replayed": 2, "distinct": 2, "rejected": 0});
    assert_members(&counts("/counts?type=viewed"), &expected);
    let expected = json!({"requests": 2, "stored": 2, "replayed": 2, "distinct": 1, "rejected": 2});
    let of_both = counts("/counts?type=purchase&subject=c-2&account=dev&count=4&wait=60s");
    assert_members(&of_both, &expected);
    let names: Vec<_> = of_both["byType"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["purchase"]);
    let expected = json!({"requests": 0, "stored": 0, "distinct": 0, "oldest": 1});
    assert_members(&counts("/counts?subject=c-3"), &expected);
    stack.stop("TERM");
}

#[test]
fn wait_ends_at_once_when_a_request_that_it_would_count_is_no_longer_kept() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    for _ in 0..=500 {
        stack.send("GET", "/api/sdk/ping", &[], b"");
    }
    for path in [
        "/signals?count=600&wait=60s",
        "/counts?type=viewed&count=600&wait=60s",
    ] {
        let began = Instant::now();
        let response = inspector.get(path);
        assert!(began.elapsed().as_secs() < 60, "{path}");
        assert_eq!(response["oldest"], 2, "{path}");
    }
    assert_eq!(inspector.get("/signals")["dropped"], 1);
    // What came after the dropped request is kept, and what was deleted is not missing.
    for (path, is_cleared) in [
        ("/signals?after=1&wait=1s", false),
        ("/signals?wait=1s", true),
    ] {
        if is_cleared {
            inspector.reset();
        }
        let began = Instant::now();
        inspector.get(path);
        assert!(began.elapsed().as_secs() >= 1, "{path}");
    }
    stack.stop("TERM");
}

#[test]
fn fields_of_the_responses_equal_those_of_the_guide() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let page = Page::read("docs/local.md");
    let table = page.table("Test a client", "field of");
    let described = |of: &str| {
        let row = table.iter().find(|row| row[0] == of).unwrap();
        quoted(&row[1]).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let fields = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let signals = inspector.get("/signals");
    let requests = inspector.get("/requests");
    let signal = &signals["signals"][1];
    let of_signal_and_error = &fields(signal) | &fields(&signal["errors"][0]);
    assert_eq!(described("a signal"), of_signal_and_error);
    let example: Value = serde_json::from_str(page.code("Test a client", "json")[0]).unwrap();
    assert_eq!(fields(&example), fields(signal));
    for (response, list) in [(&signals, "signals"), (&requests, "requests")] {
        let mut expected = described("the lists of `/requests` and `/signals`");
        expected.insert(list.to_owned());
        assert_eq!(fields(response), expected);
    }
    let verdicts = page.table("Test a client", "verdict");
    let verdicts = verdicts.iter().flat_map(|row| quoted(&row[0]));
    let mut of_counts = described("counts");
    of_counts.extend(verdicts.map(str::to_owned));
    assert_eq!(fields(&inspector.get("/counts")), of_counts);
    let of_listed_request = &described("a request") | &described("its response");
    assert_eq!(fields(&requests["requests"][0]), of_listed_request);
    let mut of_request = &of_listed_request | &described("a request alone");
    // The guide quotes this variable in the same row.
    of_request.remove("$API_KEY");
    assert_eq!(fields(&inspector.get("/requests/1")), of_request);
    stack.stop("TERM");
}

#[test]
fn reader_that_waits_for_a_count_gets_a_response_when_so_many_signals_have_come() {
    let stack = LocalStack::start(&[]);
    let url = stack.variable("INSPECTOR_URL");
    let batch = br#"{"signals":[{"customerId":"c","eventType":"awaited"},{"customerId":"c","eventType":"other"}]}"#;
    std::thread::scope(|scope| {
        let reader = |path| {
            let url = format!("{url}{path}");
            scope.spawn(move || call("GET", &url, &[], b"").json())
        };
        let signals = reader("/signals?type=awaited&count=3&wait=60s");
        let counts = reader("/counts?count=6&wait=60s");
        for _ in 0..3 {
            stack.send("POST", SIGNALS, &[], batch);
        }
        let signals = signals.join().unwrap();
        assert_eq!(signals["signals"].as_array().unwrap().len(), 3);
        let counts = counts.join().unwrap();
        assert_eq!(counts["requests"], 3);
    });
    stack.stop("TERM");
}

#[tokio::test]
async fn deferred_signals_are_those_that_the_queue_took_and_a_reset_ends_them() {
    let stack = LocalStack::start(&["--faults", "1"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let verdicts = inspector.get("/signals")["signals"].clone();
    assert_eq!(verdicts[0]["verdict"], "deferred");
    assert_eq!(verdicts[1]["verdict"], "rejected");
    let newest = inspector.newest();
    let reason = newest["reason"].as_str().unwrap();
    assert!(reason.starts_with("DynamoDB: "), "{reason}");
    inspector.reset();
    assert_eq!(inspector.get("/counts")["deferred"], 0);
    let stderr = stack.stop("TERM");
    assert!(!stderr.contains("lost with the queue"), "{stderr}");
}
