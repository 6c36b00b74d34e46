//! The records of real streams: what DynamoDB Local has of a table is what arrives on the bus and in
//! the lake, in its order.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use harness::{RequestBuilder, TestApp, stream_records, table_name};
use model::customer::attributes::is_reserved;
use serde_json::{Value, json};

use crate::properties::reference_json::Exact;
use crate::support::delivery::{BUS, Delivery, LAKE};

/// What Lambda gives a function at most, in bytes ("6 MB" in "Lambda quotas").
const MAX_EVENT_BYTES: usize = 6_000_000;

/// The text of nearly the largest signal, which no entry of the bus can have.
const LARGE_SIGNAL: usize = 261_000;

/// The flow of the workflow steps.
const FLOW: &str = "0b9f7a4e-3c55-4f0e-8a55-7d2c0c5b9d10";

/// The members of a JSON object, by their names.
type Members = BTreeMap<String, Exact>;

/// An app over DynamoDB Local.
struct Sender {
    app: TestApp,
    key: String,
}

impl Sender {
    async fn send(&self, call: RequestBuilder) {
        let response = self.app.send(call.key(&self.key)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let rejected = response.json()["rejected"].as_u64().unwrap_or(0);
        assert_eq!(rejected, 0, "{}", response.text);
    }

    async fn update(&self, customer_id: &str, profile: &str) {
        let id = json!(customer_id);
        let body = format!("{{\"customerId\":{id},\"customerData\":{profile}}}");
        self.send(RequestBuilder::customer(body)).await;
    }

    /// Erases a customer, as the operator's command does.
    async fn erase(&self, customer_id: &str) {
        let key = AttributeValue::S(format!("shop#{customer_id}"));
        let delete = self
            .app
            .client
            .delete_item()
            .table_name(table_name("CustomersTable"))
            .key("pk", key);
        delete.send().await.unwrap();
    }
}

/// Identifiers with what needs an escape, a separator of keys, or several bytes.
fn identifiers() -> Vec<String> {
    ["plain", "a#b#c", "Ünï 😀", "\"quoted\\", "a\u{fffe}", "😀"]
        .map(ToOwned::to_owned)
        .into_iter()
        .chain(["x".repeat(200)])
        .collect()
}

/// The signals of one request.
fn signals() -> Vec<String> {
    let mut signals = Vec::new();
    for (number, id) in identifiers().iter().enumerate() {
        let id = json!(id);
        signals.push(format!(
            "{{\"customerId\":{id},\"eventType\":\"view\",\"data\":{{\"n\":{number},\"exact\":-0.{number}0234567890123456789012345678901234567}},\"more\":[1.50,null,\"\\u0001\"]}}"
        ));
        signals.push(format!(
            "{{\"emitterId\":{id},\"stepNodeId\":\"step {number}\",\"eventflowIdentifier\":\"{FLOW}\",\"data\":{{\"large\":12345678901234567890123456789012345678}}}}"
        ));
    }
    let large = "y".repeat(LARGE_SIGNAL);
    signals.push(format!(
        "{{\"customerId\":\"large\",\"eventType\":\"view\",\"data\":{{\"x\":\"{large}\"}}}}"
    ));
    signals
}

/// Updates, removals, updates at the same time, an item of nearly 400 KB, and erasures.
async fn change_customers(sender: &Sender) {
    let ids = identifiers();
    for city in ["Rome", "Oslo", "Ulm"] {
        let profile = format!(
            "{{\"city\":\"{city}\",\"zip\":null,\"points\":12345678901234567890123456789012345678,\"{city}\":[true,1e-130]}}"
        );
        join_all(ids.iter().map(|id| sender.update(id, &profile))).await;
        let profile = "{\"city\":null,\"zip\":\"00100\",\"nested\":{\"deep\":{\"er\":[{}]}}}";
        join_all(ids.iter().map(|id| sender.update(id, profile))).await;
    }
    let at_once = (0..20).map(|number| {
        let profile = format!("{{\"city\":\"{number}\",\"f{number}\":{number}}}");
        async move { sender.update("at-once", &profile).await }
    });
    join_all(at_once).await;
    for update in 0..5 {
        sender.update("large", &large_fields(update)).await;
    }
    sender.update("large", "{\"city\":\"Rome\"}").await;
    for id in &ids[..4] {
        sender.erase(id).await;
    }
    join_all(
        ids[..2]
            .iter()
            .map(|id| sender.update(id, "{\"city\":\"Bern\"}")),
    )
    .await;
}

/// 76 KB of fields: after five such updates, an item has nearly its 400 KB.
fn large_fields(update: usize) -> String {
    let value = "😀".repeat(1_000);
    let fields: Vec<_> = (0..19)
        .map(|number| format!("\"f{update}-{number}\":\"{value}\""))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// The records of a shard as Lambda's events, as large as they may be.
fn events(shard: Vec<Value>) -> Vec<Vec<Value>> {
    let mut events: Vec<Vec<Value>> = Vec::new();
    let mut bytes = MAX_EVENT_BYTES;
    for mut record in shard {
        record["eventSourceARN"] = json!("arn:aws:dynamodb:ddblocal:000000000000:table/T/stream/S");
        let record_bytes = record.to_string().len() + 1;
        bytes += record_bytes;
        if bytes >= MAX_EVENT_BYTES {
            events.push(Vec::new());
            bytes = record_bytes;
        }
        events.last_mut().unwrap().push(record);
    }
    events
}

/// The CloudEvents that both handlers delivered of a table: as text, in the lake and on the bus.
struct Delivered {
    records: Vec<Value>,
    in_lake: Vec<String>,
    on_bus: Vec<String>,
}

async fn deliver(logical_id: &str) -> Delivered {
    let [bus, lake] = [Delivery::start(BUS).await, Delivery::start(LAKE).await];
    // The emulator is called from a thread that may wait.
    let table = logical_id.to_owned();
    let shards = tokio::task::spawn_blocking(move || stream_records(&table));
    let mut records = Vec::new();
    for event in shards.await.unwrap().into_iter().flat_map(events) {
        for delivery in [&bus, &lake] {
            assert_eq!(delivery.first_undelivered(&event).await, None);
            assert_eq!(delivery.kept().len(), 0);
        }
        records.extend(event);
    }
    let details = bus.targets.take_entries().into_iter();
    Delivered {
        records,
        in_lake: lake.lines_of_the_lake(),
        on_bus: details
            .map(|entry| entry["Detail"].as_str().unwrap().to_owned())
            .collect(),
    }
}

/// The bus has what the lake has, or a claim check for it.
fn assert_bus_has_the_events_of_the_lake(delivered: &Delivered) {
    assert_eq!(delivered.on_bus.len(), delivered.in_lake.len());
    let mut claim_checks = 0;
    for (on_bus, in_lake) in delivered.on_bus.iter().zip(&delivered.in_lake) {
        if on_bus == in_lake {
            continue;
        }
        let [mut claim_check, mut whole] =
            [on_bus, in_lake].map(|event| Exact::from_text(event).into_members());
        let dataref = Exact::String("urn:intake:lake".to_owned());
        assert_eq!(claim_check.remove("dataref"), Some(dataref));
        whole.remove("datacontenttype");
        whole.remove("data");
        assert_eq!(claim_check, whole);
        claim_checks += 1;
    }
    // Those with a large text or a large number.
    assert!(claim_checks > 0, "every event is whole on the bus");
}

#[tokio::test]
#[ignore = "it needs the streams of DynamoDB Local: .ci/nightly dynamodb runs it"]
async fn stored_changes_arrive_on_the_bus_and_in_the_lake_in_their_order() {
    let (app, key) = TestApp::with_key("shop").await;
    let sender = Sender { app, key };
    let sent = signals();
    let request_identifier = "6f1c0a52-7c1e-4a3e-9f0b-0d2f6f8a1b11";
    let body = format!(
        "{{\"requestIdentifier\":\"{request_identifier}\",\"signals\":[{}]}}",
        sent.join(",")
    );
    sender.send(RequestBuilder::signals(body)).await;
    change_customers(&sender).await;

    let delivered = deliver("SignalsTable").await;
    assert_bus_has_the_events_of_the_lake(&delivered);
    assert_signals_are_those_sent(&delivered, &sent);

    let delivered = deliver("CustomersTable").await;
    assert_bus_has_the_events_of_the_lake(&delivered);
    let stored = stored_profiles(&sender.app).await;
    assert_eq!(last_profiles(&delivered), stored);
}

/// The lake has each signal once, with every digit, in the order of the stream.
fn assert_signals_are_those_sent(delivered: &Delivered, sent: &[String]) {
    assert_eq!(delivered.in_lake.len(), sent.len());
    for (record, line) in delivered.records.iter().zip(&delivered.in_lake) {
        let mut event = Exact::from_text(line).into_members();
        let sort_key = record["dynamodb"]["Keys"]["sk"]["S"].as_str().unwrap();
        assert_eq!(event["id"], Exact::String(sort_key.to_owned()));
        let (_, index) = sort_key.rsplit_once('#').unwrap();
        let index: usize = index.parse().unwrap();
        assert_eq!(event.remove("data"), Some(Exact::from_text(&sent[index])));
    }
}

/// The profiles that the last events of the lake have. Each change begins with the profile that the
/// one before it ended with.
fn last_profiles(delivered: &Delivered) -> BTreeMap<String, Exact> {
    assert_eq!(delivered.in_lake.len(), delivered.records.len());
    let mut profiles = BTreeMap::new();
    for (record, line) in delivered.records.iter().zip(&delivered.in_lake) {
        let mut event = Exact::from_text(line).into_members();
        let Some(Exact::String(subject)) = event.remove("subject") else {
            panic!("{line} has no subject")
        };
        let key = record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap();
        assert_eq!(key, format!("shop#{subject}"));
        let before: Option<Exact> = profiles.remove(&subject);
        let mut data = event.remove("data").map(Exact::into_members);
        let of_data = |data: &mut Option<Members>, name: &str| data.as_mut()?.remove(name);
        if record["eventName"] == "REMOVE" {
            assert!(before.is_some() && data.is_none(), "{line}");
        } else {
            assert_eq!(of_data(&mut data, "old"), before, "{line}");
            profiles.insert(subject, of_data(&mut data, "new").unwrap());
        }
    }
    profiles
}

/// The stored profiles of all customers, as clients sent them.
async fn stored_profiles(app: &TestApp) -> BTreeMap<String, Exact> {
    let mut profiles = BTreeMap::new();
    for item in app.items("CustomersTable").await {
        let customer_id = item["customerId"].as_s().unwrap().clone();
        let fields = item.iter().filter(|(name, _)| !is_reserved(name));
        let profile = fields.map(|(name, value)| (name.clone(), Exact::of_attribute(value)));
        profiles.insert(customer_id, Exact::Object(profile.collect()));
    }
    profiles
}
