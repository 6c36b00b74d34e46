//! Reads what is stored out of the emulator, past the functions and the faults.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::load::{CANARY, FIELDS};
use super::record::{Stored, StoredSignal};
use crate::Tables;
use crate::fault_proxy::{Message, Stream};

/// Everything in the tables of signals and customers.
pub(super) async fn read(endpoint: &str) -> Stored {
    let mut signals = Vec::new();
    scan(endpoint, "SignalsTable", |item| {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
        let data = |name: &str| item["data"]["M"][name]["N"].as_str().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX);
        let who = number_after_canary(item["customerId"]["S"].as_str().or(item["emitterId"]["S"].as_str()));
        signals.push((text("pk"), text("sk"), StoredSignal { who, request: data("request"), index: data("n") }));
    })
    .await;
    // As a Query reads them: by the bytes of the sort key.
    signals.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut customers = HashMap::new();
    scan(endpoint, "CustomersTable", |item| {
        let fields =
            FIELDS.iter().filter_map(|field| Some(((*field).to_owned(), item[*field]["S"].as_str()?.to_owned())));
        customers.insert(number_after_canary(item["customerId"]["S"].as_str()).unwrap_or(u32::MAX), fields.collect());
    })
    .await;
    Stored { signals: signals.into_iter().map(|(_, _, signal)| signal).collect(), customers }
}

fn number_after_canary(text: Option<&str>) -> Option<u32> {
    text?.strip_prefix(CANARY)?.strip_prefix('-')?.parse().ok()
}

/// Items of a page. Without a limit the emulator reads the whole rest of the table for each page.
const PAGE: usize = 2_000;

/// Without the SDK, which takes some minutes for a million items where nothing is optimized.
async fn scan(endpoint: &str, table: &str, mut each: impl FnMut(&Value)) {
    let tcp = TcpStream::connect(endpoint.trim_start_matches("http://")).await.unwrap();
    let mut stream = Stream::new(tcp);
    let mut after = Value::Null;
    loop {
        let mut body = json!({"TableName": Tables::name(table), "ConsistentRead": true, "Limit": PAGE});
        if !after.is_null() {
            body["ExclusiveStartKey"] = after;
        }
        let headers = [
            ("host", "localhost"),
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", "DynamoDB_20120810.Scan"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=local/20261120/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            ),
            ("x-amz-date", "20261120T000000Z"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let call = Message { first_line: "POST / HTTP/1.1".to_owned(), headers, body: body.to_string().into_bytes() };
        stream.send(&call).await.unwrap();
        let answer = stream.next().await.unwrap().expect("an answer");
        let mut page: Value = serde_json::from_slice(&answer.body).unwrap();
        let items = page["Items"].as_array().unwrap_or_else(|| panic!("no items: {page}"));
        items.iter().for_each(&mut each);
        after = page["LastEvaluatedKey"].take();
        if after.is_null() {
            return;
        }
    }
}
