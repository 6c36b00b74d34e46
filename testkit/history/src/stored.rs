//! Reads what is stored from the emulator, past the functions and the faults. Must not know what was sent.

use std::collections::HashMap;
use std::time::Duration;

use consistency::{Fingerprint, KeptSignal, Stored, stored_signal};
use serde_json::{Value, json};

use crate::load::{CANARY, subject};
use testkit::Tables;

/// Everything in the tables of signals, rejected signals and customers. Signals have to expire after `retention`.
pub(super) fn read(endpoint: &str, retention: Duration) -> Stored {
    let mut signals = Vec::new();
    scan(endpoint, "SignalsTable", |item| {
        let keys = [text(&item["pk"]), text(&item["sk"])].map(ToOwned::to_owned);
        let id = text(&item["customerId"]).max(text(&item["emitterId"]));
        let who = who(text(&item["accountId"]), id);
        signals.push((keys, stored_signal(item, who, Some(retention))));
    });
    // As a Query reads them: by the bytes of the sort key.
    signals.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut rejected = Vec::new();
    scan(endpoint, "RejectedSignalsTable", |item| {
        let payload = text(&item["payload"]);
        let data = serde_json::from_str::<Value>(payload).unwrap_or_default()["data"].take();
        let number = |name: &str| data[name].as_u64().unwrap_or(u64::MAX);
        rejected.push(KeptSignal { request: number("request"), index: number("n"), content: Fingerprint::of(payload) });
    });
    let mut customers = HashMap::new();
    scan(endpoint, "CustomersTable", |item| {
        let own = ["pk", "accountId", "customerId", "createdAt", "updatedAt", "fence"];
        let fields = item.as_object().into_iter().flatten().filter(|(name, _)| !own.contains(&name.as_str()));
        let fields = fields.map(|(name, value)| (name.clone(), text(value).to_owned())).collect();
        let who = who(text(&item["accountId"]), text(&item["customerId"]));
        customers.insert(who.unwrap_or(u32::MAX), fields);
    });
    Stored { signals: signals.into_iter().map(|(_, signal)| signal).collect(), rejected, customers }
}

/// A string of an item.
fn text(value: &Value) -> &str {
    value["S"].as_str().unwrap_or_default()
}

/// The number of a customer or an emitter, out of its account and its id.
pub(super) fn who(account_id: &str, id: &str) -> Option<u32> {
    let account = account_id.strip_prefix("history-")?.parse().ok()?;
    Some(subject(account, id.strip_prefix(CANARY)?.strip_prefix('-')?.parse().ok()?))
}

/// Items of a page. Without a limit the emulator reads the whole rest of the table for each page.
const PAGE: usize = 2_000;

/// Without the SDK, which takes some minutes for a million items where nothing is optimized.
fn scan(endpoint: &str, table: &str, mut each: impl FnMut(&mut Value)) {
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
        let items = page["Items"].as_array_mut().expect("a page has items");
        items.iter_mut().for_each(&mut each);
        after = page["LastEvaluatedKey"].take();
        if after.is_null() {
            return;
        }
    }
}
