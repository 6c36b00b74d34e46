//! What a test of a client asks the inspector: signals, counts, and a clean start.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};
use testkit::{LocalStack, call};

use crate::page::{Page, quoted};

use super::{BATCH, Inspector, OWN_PAGE, SIGNALS, other_key};

#[tokio::test]
async fn each_signal_has_its_verdict_and_is_counted_once() {
    let stack = LocalStack::start(&["--no-queue"]);
    let (inspector, key) = (Inspector(&stack), other_key(&stack).await);
    for _ in 0..2 {
        stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    }
    let of_shop = [
        ("Authorization", &*format!("Bearer {key}")),
        ("Prefer", "handling=strict"),
    ];
    stack.send("POST", SIGNALS, &of_shop, BATCH.as_bytes());
    stack.send(
        "POST",
        SIGNALS,
        &[("Authorization", "Bearer unknown")],
        BATCH.as_bytes(),
    );
    stack.send("POST", SIGNALS, &[], b"{");
    stack.send("GET", "/api/sdk/ping", &[], b"");

    let text = inspector
        .call("GET", "/signals?subject=-c1&verdict=stored", &[], b"")
        .text;
    let price = r#""data":{"price":12345678901234567890.10}"#;
    let stored = |request: u64, replayed: bool| {
        format!(
            r#"{{"request":{request},"account":"dev","index":0,"type":"purchase","subject":"-c1","verdict":"stored","replayed":{replayed},"errors":[],"warnings":[],{price}}}"#
        )
    };
    let (first, again) = (stored(1, false), stored(2, true));
    assert_eq!(
        text,
        format!(r#"{{"signals":[{first},{again}],"oldest":1,"last":6}}"#)
    );
    let short = |path: &str| {
        let signals = inspector.get(path)["signals"].clone();
        let short = |signal: &Value| {
            let error = signal["errors"][0].clone();
            json!([
                signal["request"],
                signal["index"],
                signal["verdict"],
                signal["account"],
                error["code"],
                error["pointer"]
            ])
        };
        signals
            .as_array()
            .unwrap()
            .iter()
            .map(short)
            .collect::<Value>()
    };
    let missing = "/signals/1/eventType";
    assert_eq!(
        short("/signals"),
        json!([
            [1, 0, "stored", "dev", null, null],
            [1, 1, "rejected", "dev", "required", missing],
            [2, 0, "stored", "dev", null, null],
            [2, 1, "rejected", "dev", "required", missing],
            [3, 0, "rejected", "shop", null, null],
            [3, 1, "rejected", "shop", "required", missing],
            [4, 0, "refused", null, "unauthorized", ""],
            [4, 1, "refused", null, "unauthorized", ""],
            [5, null, "refused", "dev", "malformed-json", ""],
        ])
    );
    assert_eq!(
        short("/signals?account=shop&type=purchase"),
        json!([[3, 0, "rejected", "shop", null, null]])
    );
    assert_eq!(short("/signals?after=3&type=other"), json!([]));
    let tally = |[stored, rejected, refused, replayed, distinct]: [u64; 5]| json!({"stored": stored, "deferred": 0, "rejected": rejected, "refused": refused, "replayed": replayed, "distinct": distinct});
    let mut expected = tally([2, 4, 3, 2, 1]);
    expected["byType"] = json!({"purchase": tally([2, 1, 1, 1, 1])});
    (
        expected["requests"],
        expected["warnings"],
        expected["otherTypes"],
    ) = (json!(6), json!(0), json!(0));
    expected["contracts"] = json!({"ok": 0, "broken": 0, "none": 0});
    assert_eq!(inspector.get("/counts?count=9"), expected);
    let of_account = |account| {
        let counts = inspector.get(&format!("/counts?account={account}"));
        json!([counts["requests"], counts["rejected"], counts["byType"]])
    };
    let purchases = |counts| json!({"purchase": tally(counts)});
    assert_eq!(of_account("dev"), json!([4, 2, purchases([2, 0, 0, 1, 1])]));
    assert_eq!(
        of_account("shop"),
        json!([1, 2, purchases([0, 1, 0, 0, 0])])
    );
    let unauthorized =
        &inspector.get("/signals?after=3&count=2")["signals"][0]["errors"][0]["message"];
    assert!(
        unauthorized.as_str().unwrap().ends_with(" (unknown)"),
        "{unauthorized}"
    );
    stack.stop("TERM");
}

#[test]
fn request_of_a_client_that_hangs_up_is_listed_as_left_and_its_retry_counts_nothing_twice() {
    // With faults, an answer takes longer than the end of a connection.
    let stack = LocalStack::start(&["--faults", "1"]);
    let inspector = Inspector(&stack);
    let address = stack.variable("BASE_URL").replace("http://", "");
    let key = stack.variable("API_KEY");
    let mut client = TcpStream::connect(&address).unwrap();
    write!(
        client,
        "POST {SIGNALS} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        BATCH.len()
    )
    .unwrap();
    // The gateway has the request.
    let mut asked_for_body = [0; 25];
    client.read_exact(&mut asked_for_body).unwrap();
    client.write_all(BATCH.as_bytes()).unwrap();
    drop(client);
    let request = &inspector.get("/requests?wait=60s")["requests"][0];
    assert_eq!(
        json!([request["left"], request["status"], request["accepted"]]),
        json!([true, 200, 1])
    );
    let retried = stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    assert_eq!(retried.status, 200, "{retried:?}");
    assert_eq!(inspector.newest(["left"]), [json!(false)]);
    let counts = inspector.get("/counts?count=4&wait=60s");
    let counted = |name: &str| counts["byType"]["purchase"][name].clone();
    assert_eq!(
        (counted("distinct"), &counts["rejected"], &counts["refused"]),
        (json!(1), &json!(2), &json!(0)),
        "{counts}"
    );
    stack.stop("TERM");
}

#[test]
fn signals_that_api_gateway_kept_from_the_function_are_refused() {
    let stack = LocalStack::start(&["--answer", "503:1"]);
    let inspector = Inspector(&stack);
    let answer = stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    assert_eq!(answer.status, 503);
    let counts = inspector.get("/counts?count=2&wait=60s");
    assert_eq!(
        (&counts["refused"], &counts["distinct"]),
        (&json!(2), &json!(0)),
        "the function learned nothing of it: {counts}"
    );
    stack.stop("TERM");
}

#[test]
fn fields_of_the_answers_are_those_of_the_guide() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let page = Page::read("docs/clients.md");
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
    let (signals, list) = (inspector.get("/signals"), inspector.get("/requests"));
    let (of_list, of_signal, verdicts) = (
        described("every list"),
        described("a signal"),
        described("a verdict"),
    );
    let of_error = fields(&signals["signals"][1]["errors"][0]);
    let of_signal_and_error = fields(&signals["signals"][1])
        .union(&of_error)
        .cloned()
        .collect::<BTreeSet<_>>();
    assert_eq!(of_signal, of_signal_and_error);
    for (answer, names) in [(&signals, "signals"), (&list, "requests")] {
        assert_eq!(
            fields(answer),
            &of_list | &BTreeSet::from([names.to_owned()])
        );
    }
    assert_eq!(
        fields(&inspector.get("/counts")),
        &described("counts") | &verdicts
    );
    let of_request = fields(&inspector.get("/requests/1"));
    assert_eq!(
        &described("a request") - &BTreeSet::from(["$API_KEY".to_owned()]),
        of_request
    );
    assert!(of_request.is_superset(&fields(&list["requests"][0])));
    stack.stop("TERM");
}

#[test]
fn reader_waits_until_so_many_signals_have_come() {
    let stack = LocalStack::start(&[]);
    let (inspector, url) = (
        Inspector(&stack),
        stack.variable("INSPECTOR_URL").to_owned(),
    );
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
        assert_eq!(
            signals.join().unwrap()["signals"].as_array().unwrap().len(),
            3
        );
        assert_eq!(counts.join().unwrap()["requests"], 3);
    });
    let began = Instant::now();
    assert_eq!(
        inspector.get("/signals?after=1&count=7&wait=1s")["signals"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert!(began.elapsed().as_secs() >= 1);
    stack.stop("TERM");
}

#[tokio::test]
async fn deferred_signals_are_those_that_the_queue_took_and_a_reset_ends_them() {
    let stack = LocalStack::start(&["--faults", "1"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let verdicts = inspector.get("/signals")["signals"].clone();
    assert_eq!(
        (&verdicts[0]["verdict"], &verdicts[1]["verdict"]),
        (&json!("deferred"), &json!("rejected"))
    );
    assert_eq!(
        inspector.call("POST", "/reset", &[OWN_PAGE], b"").status,
        204
    );
    assert_eq!(inspector.get("/counts")["deferred"], 0);
    let stderr = stack.stop("TERM");
    assert!(!stderr.contains("lost with the queue"), "{stderr}");
}

#[tokio::test]
async fn reset_empties_everything_but_the_keys() {
    let stack = LocalStack::start(&["--no-queue"]);
    let (inspector, key) = (Inspector(&stack), other_key(&stack).await);
    let bearer = format!("Bearer {key}");
    for _ in 0..2 {
        for headers in [&[][..], &[("Authorization", bearer.as_str())]] {
            let answer = stack.send("POST", SIGNALS, headers, BATCH.as_bytes());
            assert_eq!(
                (answer.status, &answer.json()["replayed"]),
                (200, &json!(false)),
                "{answer:?}"
            );
            stack.send(
                "POST",
                "/api/customers",
                headers,
                br#"{"customerId":"-c1","customerData":{}}"#,
            );
        }
        for account in ["dev", "shop"] {
            let customer = inspector.get(&format!("/customers/-c1?account={account}"));
            assert_eq!(
                (
                    &customer["profile"]["accountId"],
                    customer["signals"].as_array().unwrap().len()
                ),
                (&json!(account), 1)
            );
            assert_eq!(
                inspector
                    .get(&format!("/rejected?account={account}"))
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
        }
        assert_eq!(
            inspector.call("POST", "/reset", &[OWN_PAGE], b"").status,
            204
        );
        assert_eq!(
            inspector.get("/customers/-c1"),
            json!({"profile": null, "signals": []})
        );
        assert_eq!(
            (inspector.get("/rejected"), inspector.get("/accounts")),
            (json!([]), json!(["dev", "shop"]))
        );
        assert_eq!(inspector.get("/requests")["requests"], json!([]));
    }
    assert_eq!(inspector.get("/requests")["last"], 8);
    stack.stop("TERM");
}
