//! What the page reads for its lists: short rows in parts, and which of them have a text.

use harness::LocalStack;
use serde_json::{Value, json};

use super::{BATCH, Inspector, SIGNALS, assert_members};
use crate::support::gzip::gzip;

#[test]
fn row_of_a_request_has_what_lists_show_of_each_signal_and_no_data() {
    let stack = LocalStack::start(&["--contracts", "events/contracts"]);
    let inspector = Inspector(&stack);
    stack.send("POST", SIGNALS, &[], BATCH.as_bytes());
    let broken = br#"{"signals":[{"customerId":"c","eventType":"product_viewed","data":{}}]}"#;
    stack.send("POST", SIGNALS, &[], broken);
    stack.send("GET", "/api/sdk/ping", &[], b"");

    let rows = inspector.get("/rows");
    let expected = json!([
        {"type": "purchase", "subject": "-c1", "verdict": "stored"},
        {
            "subject": "-c1", "verdict": "rejected", "errors": 1, "code": "required",
            "pointer": "/signals/1/eventType",
        },
    ]);
    assert_eq!(rows["rows"][0]["signals"], expected);
    let facts = json!({"n": 1, "status": 200, "accepted": 1, "rejected": 1, "account": "dev"});
    assert_members(&rows["rows"][0], &facts);
    let broken = &rows["rows"][1]["signals"][0];
    let expected = json!({
        "verdict": "stored", "code": "contract-broken", "pointer": "/signals/0/data",
    });
    assert_members(broken, &expected);
    assert_eq!(rows["rows"][2]["signals"], json!([]));
    assert_eq!(rows["last"], 3);
    assert_eq!(inspector.get("/rows?after=3")["rows"], json!([]));
    stack.stop("TERM");
}

#[test]
fn rows_come_in_parts_of_ten_thousand_signals() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let signals = vec![json!({"customerId": "c", "eventType": "viewed"}); 500];
    let batch = json!({ "signals": signals }).to_string();
    // A batch that is refused is listed like others, and nothing has to store it.
    let refused = [("Authorization", "Bearer unknown")];
    for _ in 0..21 {
        stack.send("POST", SIGNALS, &refused, batch.as_bytes());
    }
    let numbers = |rows: &Value| -> Vec<u64> {
        let rows = rows["rows"].as_array().unwrap().iter();
        rows.map(|row| row["n"].as_u64().unwrap()).collect()
    };
    let first = inspector.get("/rows");
    assert_eq!(numbers(&first), (1..=20).collect::<Vec<_>>());
    assert_eq!(first["last"], 21);
    assert_eq!(numbers(&inspector.get("/rows?after=20")), [21]);
    stack.stop("TERM");
}

#[test]
fn request_and_its_signals_are_found_by_a_text_in_their_bodies() {
    let stack = LocalStack::start(&[]);
    let inspector = Inspector(&stack);
    let batch = br#"{"signals":[
        {"customerId":"c","eventType":"e","data":{"brand":"Acme"}},
        {"customerId":"c","eventType":"e","data":{"brand":"Other"}},
        {"customerId":"c","eventType":"e","url":"https://acme.example/Acme"}]}"#;
    stack.send("POST", SIGNALS, &[], batch);
    let compressed = [("Content-Encoding", "gzip")];
    stack.send("POST", SIGNALS, &compressed, &gzip(batch));
    let customer = br#"{"customerId":"c","customerData":{}}"#;
    stack.send("POST", "/api/customers", &[], customer);

    let found = |text: &str| -> Vec<u64> {
        let list = inspector.get(&format!("/requests?text={text}"));
        let requests = list["requests"].as_array().unwrap().iter();
        requests.map(|one| one["n"].as_u64().unwrap()).collect()
    };
    assert_eq!(found("Acme"), [1, 2]);
    assert_eq!(found("ACME"), Vec::<u64>::new());
    assert_eq!(found("customerData"), [3]);
    // Only the response has this.
    assert_eq!(found("updatedAt"), [3]);
    assert_eq!(found("Acme&status=4xx"), Vec::<u64>::new());

    let matches = inspector.get("/rows/matches?text=Acme");
    let of_batch = |n: u64| json!({"n": n, "signals": [0, 2]});
    let expected = json!({"matches": [of_batch(1), of_batch(2)], "last": 3});
    assert_eq!(matches, expected);
    let later = inspector.get("/rows/matches?text=Acme&after=1");
    assert_eq!(later["matches"], json!([of_batch(2)]));
    stack.stop("TERM");
}
