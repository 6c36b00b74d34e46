//! docs/data-model.md has the tables of template.yaml, and the attributes of items that the
//! functions really store.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::time::Duration;

use aws::s3::S3Object;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::api_key::{Endpoint, KeyHash};
use model::customer::{FENCE_PREFIX, PROFILE_FIELDS};
use model::key_entry::KeyEntry;
use serde_json::{Value, json};
use store::key_snapshot::KeySnapshot;
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::{Item, RequestBuilder, TestApp, template};

use crate::support::clock::NOW;
use crate::support::items::{item_json, type_of};
use crate::support::page::{Page, quoted, root};
use crate::support::requests::REQUEST_IDENTIFIER;

/// Lambda's id of the invocations in the examples.
const INVOCATION: &str = "8f5d2c0e-1b7a-4e43-9d35-0c6b1a2f7e90";

/// The row that stands for unknown profile fields.
const ANY_OTHER_NAME: &str = "any other name";

const TABLES: [&str; 5] = [
    "ApiKeys",
    "Customers",
    "Signals",
    "Idempotency",
    "RejectedSignals",
];

fn page() -> Page {
    Page::read("docs/data-model.md")
}

/// A row of the table of attributes.
struct Attribute {
    types: BTreeSet<String>,
    in_every_item: bool,
}

/// The documented attributes of a table, by name.
fn documented(table: &str) -> BTreeMap<String, Attribute> {
    let mut attributes = BTreeMap::new();
    for row in page().table(table, "attribute | type") {
        let types: BTreeSet<_> = row[1]
            .split([',', ' '])
            .filter(|word| !word.is_empty() && *word != "or")
            .map(str::to_owned)
            .collect();
        let names: Vec<_> = if row[0] == ANY_OTHER_NAME {
            vec![ANY_OTHER_NAME]
        } else {
            quoted(&row[0]).collect()
        };
        for name in names {
            attributes.insert(
                name.to_owned(),
                Attribute {
                    types: types.clone(),
                    in_every_item: row[2] == "yes",
                },
            );
        }
    }
    attributes
}

/// A stack of which `BatchWriteItem` fails where a body has `marker`, with signals that are kept
/// for 90 days.
async fn stack_failing_at(marker: &'static str) -> (TestApp, FaultProxy) {
    let emulator = TestApp::emulator();
    let endpoint = emulator.endpoint();
    let failing = Fault::InternalServerError
        .where_body_has(marker)
        .for_operation("BatchWriteItem");
    let proxy = FaultProxy::start(&endpoint, failing).await.unwrap();
    let retention = Some(Duration::from_hours(90 * 24));
    (
        TestApp::with_dynamodb(emulator, &endpoint, &proxy.endpoint(), retention),
        proxy,
    )
}

/// A profile with a documented field, an empty one and an unknown one.
fn customer() -> Value {
    let profile = json!({"email": "ada@example.com", "firstName": "Ada", "gender": "", "loyalty": {"tier": "gold", "points": 1250}});
    json!({"customerId": "c-1001", "customerData": profile})
}

/// A profile with every documented field, and unknown ones of every type.
fn customer_with_all_fields() -> Value {
    let mut profile: HashMap<&str, Value> = PROFILE_FIELDS.map(|name| (name, json!("x"))).into();
    profile.extend([
        ("n", json!(1)),
        ("b", json!(true)),
        ("l", json!([null])),
        ("s", json!("")),
    ]);
    json!({"customerId": "c-1002", "customerData": profile})
}

/// An event with an unknown field, an invalid one and a workflow step.
fn batch() -> Value {
    let flow = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    let data = json!({"price": 49.90, "productId": "p-17"});
    json!({"requestIdentifier": REQUEST_IDENTIFIER, "signals": [
        {"customerId": "c-1001", "eventType": "purchase", "eventflowIdentifier": flow, "data": data, "sessionId": "s-9"},
        {"customerId": "c-1001", "eventType": ""},
        {"emitterId": "journey-7", "stepNodeId": "start", "eventflowIdentifier": flow}
    ]})
}

/// What the functions store of requests that together have every attribute.
async fn stored() -> HashMap<&'static str, Vec<Item>> {
    let (stack, _proxy) = stack_failing_at("\"fails\"").await;
    let expires_at = Some(NOW.plus(Duration::from_hours(90 * 24)));
    let named = |record: &mut KeyEntry| {
        let key_id = "key_3f2a9c81d04e".to_owned();
        let name = "web".to_owned();
        *record = KeyEntry {
            key_id,
            name,
            created_at: NOW,
            expires_at,
            ..record.clone()
        };
    };
    let key = stack.key_with("acme", named).await;
    let revoked = |record: &mut KeyEntry| {
        *record = KeyEntry {
            revoked_at: Some(NOW),
            only: Some(Endpoint::Signals),
            ..record.clone()
        };
    };
    stack.key_with("acme", revoked).await;
    let too_long = json!({"signals": ["x".repeat(310 * 1024)]});
    let failing = json!({"signals": [{"customerId": "c", "eventType": "fails"}]});
    for (call, status) in [
        (RequestBuilder::customer(customer()), 200),
        (RequestBuilder::customer(customer_with_all_fields()), 200),
        (RequestBuilder::signals(batch()), 200),
        (RequestBuilder::signals(too_long), 400),
        (RequestBuilder::signals(failing), 503),
    ] {
        let answer = stack
            .send(call.key(&key).received_at(NOW).invocation(INVOCATION))
            .await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let mut items = HashMap::new();
    for table in TABLES {
        items.insert(table, stack.items(&format!("{table}Table")).await);
    }
    items
}

/// The attributes of a table that are its keys, and what DynamoDB does with its items.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TableKeys {
    table: String,
    partition_key: Option<String>,
    sort_key: Option<String>,
    time_to_live: Option<String>,
    stream: Option<String>,
}

#[test]
fn tables_keys_time_to_live_and_streams_are_those_of_the_template() {
    let name = |cell: &str| Some(cell.trim_matches('`').to_owned()).filter(|name| !name.is_empty());
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    // The stream is left out of what the local stack reads.
    let stream_of = |logical_id: &str| {
        let resource = text
            .split(&format!("\n  {logical_id}:\n"))
            .nth(1)
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap();
        resource
            .split("StreamViewType: ")
            .nth(1)
            .map(|rest| rest.lines().next().unwrap().to_owned())
    };
    let overview = page().text.split("\n| table |").nth(1).unwrap().to_owned();
    let rows = overview
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let documented: BTreeSet<_> = rows
        .map(|row| {
            row.split('|')
                .map(str::trim)
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|row| TableKeys {
            table: row[0].clone(),
            partition_key: name(&row[1]),
            sort_key: name(&row[2]),
            time_to_live: name(&row[3]),
            stream: name(&row[4]),
        })
        .collect();
    let in_template: BTreeSet<_> = template()
        .tables
        .iter()
        .map(|table| {
            let schema = table.definition["KeySchema"].as_array().unwrap();
            let mut keys = schema
                .iter()
                .map(|key| key["AttributeName"].as_str().unwrap().to_owned());
            TableKeys {
                table: table.logical_id.strip_suffix("Table").unwrap().to_owned(),
                partition_key: keys.next(),
                sort_key: keys.next(),
                time_to_live: table.time_to_live_attribute.clone(),
                stream: stream_of(&table.logical_id),
            }
        })
        .collect();
    assert_eq!(documented, in_template);
}

#[tokio::test]
async fn stored_attributes_are_the_documented_ones_with_their_types() {
    let items = stored().await;
    for table in TABLES {
        let attributes = documented(table);
        let mut seen = BTreeSet::new();
        for item in &items[table] {
            for (name, value) in item {
                let name = match name.as_str() {
                    name if name.starts_with(FENCE_PREFIX) => FENCE_PREFIX,
                    name if attributes.contains_key(name) => name,
                    _ => ANY_OTHER_NAME,
                };
                let attribute = attributes
                    .get(name)
                    .unwrap_or_else(|| panic!("{table} has {item:?}"));
                assert!(
                    attribute.types.contains(type_of(value)),
                    "{table}.{name} is {value:?}"
                );
                seen.insert(name.to_owned());
            }
            for (name, _) in attributes
                .iter()
                .filter(|(_, attribute)| attribute.in_every_item)
            {
                assert!(
                    item.contains_key(name),
                    "{table}: {name} is not in {item:?}"
                );
            }
        }
        assert_eq!(
            seen,
            attributes.into_keys().collect(),
            "{table}: documented, but in no item"
        );
    }
}

#[tokio::test]
async fn examples_are_items_that_the_functions_store() {
    let items = stored().await;
    for table in TABLES {
        let found: Vec<_> = items[table].iter().map(item_json).collect();
        for example in page().code(table, "json") {
            let (mut example, mut found): (Value, _) =
                (serde_json::from_str(example).unwrap(), found.clone());
            // The id of an update is random, and so are the lower bits of its fence.
            if table == "Customers" {
                for item in found.iter_mut().chain([&mut example]) {
                    item["fenceId"]["B"] = json!(item["fenceId"]["B"].as_str().unwrap().len());
                    let attributes = item.as_object_mut().unwrap().iter_mut();
                    for (_, value) in attributes
                        .filter(|(name, _)| *name == "fence" || name.starts_with(FENCE_PREFIX))
                    {
                        *value = json!(value["N"].as_str().unwrap().parse::<u64>().unwrap() >> 20);
                    }
                }
            }
            assert!(
                found.contains(&example),
                "{table} holds no such item, but these:\n{}",
                json!(found)
            );
        }
    }
}

#[test]
fn example_of_the_key_snapshot_is_one_that_functions_read() {
    let text = page().text;
    let section = text.split("\n## Key snapshot\n").nth(1).unwrap();
    let json = section
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(json.as_bytes()).unwrap();
    let object = S3Object {
        body: encoder.finish().unwrap(),
        last_modified: NOW,
        etag: String::new(),
    };
    let snapshot = KeySnapshot::parse(&object).unwrap();
    let hash: KeyHash = "48f2823899ab99f111a20588cad89ed555ee11eec56dbaafd53120a9727aca8e"
        .parse()
        .unwrap();
    let record = snapshot.find(hash).unwrap();
    assert_eq!(record.key_id.as_str(), "key_3f2a9c81d04e");
    assert_eq!(record.expires_at.unwrap().seconds(), 1_802_990_024);
}
