//! Reads what is stored from the emulator, past the functions and the faults. Must not know what was sent.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::load::{CANARY, FIELDS};
use super::record::{Stored, StoredSignal};
use crate::test_app::Tables;

/// Everything in the tables of signals and customers.
pub(super) fn read(endpoint: &str) -> Stored {
    let mut signals = Vec::new();
    scan(endpoint, "SignalsTable", |item| {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
        let data = |name: &str| item["data"]["M"][name]["N"].as_str().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX);
        let who = number_after_canary(item["customerId"]["S"].as_str().or(item["emitterId"]["S"].as_str()));
        signals.push((text("pk"), text("sk"), StoredSignal { who, request: data("request"), index: data("n") }));
    });
    // As a Query reads them: by the bytes of the sort key.
    signals.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut customers = HashMap::new();
    scan(endpoint, "CustomersTable", |item| {
        let fields =
            FIELDS.iter().filter_map(|field| Some(((*field).to_owned(), item[*field]["S"].as_str()?.to_owned())));
        customers.insert(number_after_canary(item["customerId"]["S"].as_str()).unwrap_or(u32::MAX), fields.collect());
    });
    Stored { signals: signals.into_iter().map(|(_, _, signal)| signal).collect(), customers }
}

fn number_after_canary(text: Option<&str>) -> Option<u32> {
    text?.strip_prefix(CANARY)?.strip_prefix('-')?.parse().ok()
}

/// Items of a page. Without a limit the emulator reads the whole rest of the table for each page.
const PAGE: usize = 2_000;

/// Without the SDK, which takes some minutes for a million items where nothing is optimized.
fn scan(endpoint: &str, table: &str, mut each: impl FnMut(&Value)) {
    let agent = ureq::Agent::config_builder().proxy(None).build().new_agent();
    let credential = "AWS4-HMAC-SHA256 Credential=local/20261120/eu-central-1/dynamodb/aws4_request";
    let mut after = Value::Null;
    loop {
        let mut body = json!({"TableName": Tables::name(table), "ConsistentRead": true, "Limit": PAGE});
        if !after.is_null() {
            body["ExclusiveStartKey"] = after;
        }
        let call = agent
            .post(endpoint)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", "DynamoDB_20120810.Scan")
            .header("x-amz-date", "20261120T000000Z")
            .header("authorization", format!("{credential}, SignedHeaders=host, Signature=0"));
        let mut response = call.send(body.to_string()).unwrap();
        let page = response.body_mut().with_config().limit(u64::MAX).read_to_vec().unwrap();
        let mut page: Value = serde_json::from_slice(&page).unwrap();
        let items = page["Items"].as_array().unwrap_or_else(|| panic!("no items: {page}"));
        items.iter().for_each(&mut each);
        after = page["LastEvaluatedKey"].take();
        if after.is_null() {
            return;
        }
    }
}
