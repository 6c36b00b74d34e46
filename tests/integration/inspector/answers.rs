//! Responses that a test plans for the next requests of an account.

use std::time::{Duration, Instant};

use harness::LocalStack;
use serde_json::{Value, json};

use super::{Inspector, OWN_PAGE, SIGNALS, other_key};

const BATCH: &[u8] = br#"{"requestIdentifier":"0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11","signals":[{"customerId":"c","eventType":"viewed"}]}"#;

/// Plans these responses, and returns the status and the sentence of an error.
fn plan(inspector: &Inspector<'_>, plan: &Value) -> (u16, String) {
    let body = plan.to_string();
    let response = inspector.call("POST", "/answers", &[OWN_PAGE], body.as_bytes());
    let message = if response.text.is_empty() {
        String::new()
    } else {
        response.json()["message"].as_str().unwrap().to_owned()
    };
    (response.status, message)
}

#[tokio::test]
async fn next_requests_of_an_account_on_a_path_get_the_planned_responses_in_their_order() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let key_of_shop = format!("Bearer {}", other_key(&stack).await);
    let of_shop = [("Authorization", key_of_shop.as_str())];
    let answers = ["503", "429", "storage-unavailable", "timeout:1s", "200"];
    let planned = json!({"account": "shop", "path": SIGNALS, "answers": answers});
    assert_eq!(plan(&inspector, &planned).0, 204);
    assert_eq!(inspector.get("/answers"), json!({"plans": [planned]}));

    // Neither another account nor another path takes one of them.
    assert_eq!(stack.send("POST", SIGNALS, &[], BATCH).status, 200);
    let ping = stack.send("GET", "/api/sdk/ping", &of_shop, b"");
    assert_eq!(ping.status, 200);

    let send = || stack.send("POST", SIGNALS, &of_shop, BATCH);
    let unavailable = send();
    assert_eq!(unavailable.status, 503);
    assert_eq!(
        unavailable.json(),
        json!({"message": "Service Unavailable"})
    );
    assert_eq!(send().status, 429);
    let of_function = send();
    of_function.assert_problem(503, "storage-unavailable");
    assert_eq!(of_function.header("retry-after"), "2");
    let identifier = &of_function.json()["requestIdentifier"];
    assert_eq!(*identifier, "0b0c7a52-7c1e-4a3e-9f0b-0d2f6f8a1b11");
    let refused = inspector.get("/counts?account=shop&subject=c");
    assert_eq!([&refused["refused"], &refused["distinct"]], [3, 0]);
    let began = Instant::now();
    assert_eq!(send().status, 503);
    assert!(began.elapsed() >= Duration::from_secs(1));
    let stored = send().json();
    assert_eq!(
        stored["replayed"], true,
        "the function did its work: {stored}"
    );
    assert_eq!(inspector.get("/answers"), json!({"plans": []}));
    assert_eq!(send().status, 200);
    stack.stop("TERM");
}

#[test]
fn planned_responses_end_with_a_reset_and_wrong_ones_are_errors() {
    let stack = LocalStack::start(&["--next-answer", "503,200,429"]);
    let inspector = Inspector(&stack);
    let statuses = || [(); 3].map(|()| stack.send("POST", SIGNALS, &[], BATCH).status);
    assert_eq!(statuses(), [503, 200, 429]);
    for path in [
        "/reset",
        "/reset?account=dev",
        "/answers",
        "/answers?account=dev",
    ] {
        let planned = json!({"account": "dev", "answers": ["503"]});
        assert_eq!(plan(&inspector, &planned).0, 204);
        let method = if path.starts_with("/reset") {
            "POST"
        } else {
            "DELETE"
        };
        let ended = inspector.call(method, path, &[OWN_PAGE], b"");
        assert_eq!(ended.status, 204, "{path}: {ended:?}");
        assert_eq!(inspector.get("/answers"), json!({"plans": []}), "{path}");
    }
    for (wrong, sentence) in [
        (
            json!({"answers": ["418"]}),
            "answers: an answer is 200 (the function's), 429, ",
        ),
        (
            json!({"answers": ["503"], "path": "/signal"}),
            "path: there are /api/customers, ",
        ),
        (
            json!({"answers": ["503"], "account": "dve"}),
            "account: no key belongs to ",
        ),
        (
            json!({"answer": ["503"]}),
            "The body must be an object with answers, such as ",
        ),
    ] {
        let (status, message) = plan(&inspector, &wrong);
        assert_eq!(status, 400, "{message}");
        assert!(message.starts_with(sentence), "{message}");
    }
    stack.stop("TERM");
}
