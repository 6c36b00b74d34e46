//! `import` merges customers by field, by the times of the lines (docs/cli.md, Import).

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use aws::deadline::Deadline;
use harness::{Item, RequestBuilder, TestApp, client_at, table_name};
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::timestamp::Timestamp;
use operator::Tables;
use operator::import::{Import, ImportFile, ImportMode};
use serde_json::{Value, json};
use store::customers::{CustomersTable, NewerField, Upsert};
use store::fence::UpdateMark;

use crate::support::clock::days_ago;
use crate::support::operator::Operator;

fn line(id: &str, data: &Value, updated_at: Timestamp) -> String {
    let customer = json!({"customerId": id, "customerData": data, "updatedAt": updated_at});
    format!("{customer}\n")
}

/// The fields of a customer with the times of their fences; a removed field has no value.
fn fields(item: &Item) -> BTreeMap<String, (Option<String>, u64)> {
    let mut fields = BTreeMap::new();
    for (attribute, fence) in item {
        let Some(field) = attribute.strip_prefix("fence:") else {
            continue;
        };
        if ["pk", "fence"].contains(&field) {
            continue;
        }
        let value = item.get(field).map(|value| value.as_s().unwrap().clone());
        let fence: u64 = fence.as_n().unwrap().parse().unwrap();
        fields.insert(field.to_owned(), (value, fence >> 20));
    }
    fields
}

#[tokio::test]
async fn line_of_several_updates_is_stored_when_one_is_and_the_others_were_before() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let time = days_ago(3);
    let stored_line = |last: &str| {
        let mut customer =
            json!({"customerId": "ada", "accountId": "shop", "createdAt": time, "updatedAt": time});
        for n in 0..30 {
            customer[format!("field{n:02}")] = json!("x");
        }
        customer["field29"] = json!(last);
        format!("{customer}\n")
    };
    for (last, summary) in [
        ("x", "1 customer stored, 0 lines rejected."),
        ("y", "1 customer stored, 0 lines rejected."),
        (
            "y",
            "0 customers stored, 1 with nothing newer to store, 0 lines rejected.",
        ),
    ] {
        operator.file("c", &stored_line(last));
        let import = ["import", "--account", "shop", "c"];
        let done = operator.run(&import).success();
        // The names of the unknown fields follow.
        assert_eq!(done.stdout.lines().next(), Some(summary));
    }
}

/// What a field is in the end.
type Expected = BTreeMap<(String, String), (u64, Option<String>)>;

const CUSTOMERS: usize = 3;
const FIELDS: [&str; 5] = ["city", "zip", "a", "b", "c"];

/// A random change of some fields. Documented ones are not removed.
fn random_data(random: &mut fastrand::Rng, value: &str) -> Value {
    let mut data = serde_json::Map::new();
    for field in FIELDS {
        if random.bool() {
            let removes = random.u8(..4) == 0 && field.len() == 1;
            let value = if removes { Value::Null } else { json!(value) };
            data.insert(field.to_owned(), value);
        }
    }
    Value::Object(data)
}

/// Keeps of each field the value with the highest time, and of equal times the later one.
fn expect(expected: &mut Expected, id: &str, data: &Value, time: u64) {
    for (field, value) in data.as_object().unwrap() {
        let new = (time, value.as_str().map(str::to_owned));
        let stored = expected.entry((id.to_owned(), field.clone()));
        let stored = stored.or_insert_with(|| new.clone());
        if time >= stored.0 {
            *stored = new;
        }
    }
}

fn tables(app: &TestApp) -> Tables {
    let name = |table: &str| table_name(table).to_owned();
    Tables {
        dynamodb: client_at(&app.emulator.endpoint()),
        customers: name("CustomersTable"),
        signals: name("SignalsTable"),
        rejected_signals: name("RejectedSignalsTable"),
        retention: None,
        note: |_| {},
    }
}

/// Imports a file, or ends the import after a while.
async fn import(app: &TestApp, operator: &Operator, text: &str, end_after: Option<Duration>) {
    operator.file("random", text);
    let tables = tables(app);
    let file = ImportFile {
        account: "shop".parse().unwrap(),
        path: operator.home.path().join("random"),
        received_at: None,
        from_line: NonZeroU64::MIN,
        kind: None,
        source: None,
        mode: ImportMode::Store,
    };
    let mut import = Import::new(&tables, &file).unwrap();
    let run = import.run();
    match end_after {
        None => run.await.unwrap(),
        Some(after) => {
            if let Ok(ended) = tokio::time::timeout(after, run).await {
                ended.unwrap();
            }
        }
    }
}

/// A change that a client sent at a time in the past, and that is written now, as a drain does.
async fn drain(app: &TestApp, id: &str, data: &Value, time: Timestamp) {
    let body = json!({"customerId": id, "customerData": data}).to_string();
    let update = CustomerUpdate::parse(JsonText::parse(&body).unwrap()).unwrap();
    let table = CustomersTable::new(
        client_at(&app.emulator.endpoint()),
        table_name("CustomersTable"),
    );
    let upsert = Upsert {
        account_id: &"shop".parse().unwrap(),
        update: &update,
        mark: UpdateMark::new(time),
        newer_field: NewerField::Keep,
        now: Timestamp::now(),
    };
    let deadline = Deadline::after(Duration::from_mins(1));
    table.upsert(upsert, deadline).await.unwrap();
}

async fn send(app: &TestApp, key: &str, id: &str, data: &Value) {
    let body = json!({"customerId": id, "customerData": data});
    let sent = app.send(RequestBuilder::customer(body).key(key)).await;
    assert_eq!(sent.status, 200, "{sent:?}");
}

/// Lines of a file that stay in their order, because they have the same time.
struct Lines(Vec<String>);

/// The text of a file. Lines with the same time may be in different chunks.
fn text(file: &[Lines], random: &mut fastrand::Rng) -> String {
    let texts = file.iter().map(|lines| {
        let blank_lines = "\n".repeat(random.usize(..500));
        lines.0.join(&blank_lines)
    });
    texts.collect()
}

/// Imports of parts of a file in any order, ended at any time, beside updates of clients and drains.
#[tokio::test]
async fn random_imports_beside_updates_and_drains_end_as_the_times_say() {
    for seed in 0..4 {
        let mut random = fastrand::Rng::with_seed(seed);
        let app = TestApp::start();
        let operator = Operator::new(&app);
        let key = app.key("shop").await;
        let begin = days_ago(10).millis();
        let mut expected = Expected::new();
        let mut file = Vec::new();
        for n in 0..25 {
            // Lines have even milliseconds, and drained updates odd ones.
            let time = begin + 2 * random.u64(..1_000_000) + 2_000_000 * n as u64;
            let mut lines = Vec::new();
            for twin in 0..random.u8(1..=2) {
                let id = format!("c{}", n % CUSTOMERS);
                let data = random_data(&mut random, &format!("line {n} {twin}"));
                expect(&mut expected, &id, &data, time);
                lines.push(line(&id, &data, Timestamp::from_millis(time)));
            }
            file.push(Lines(lines));
        }
        for n in 0..8 {
            random.shuffle(&mut file);
            let part = &file[random.usize(..file.len())..];
            let end_after = random
                .bool()
                .then(|| Duration::from_millis(random.u64(..60)));
            let text = text(part, &mut random);
            let importing = import(&app, &operator, &text, end_after);
            let id = format!("c{}", random.usize(..CUSTOMERS));
            let drained = random_data(&mut random, &format!("drained {n}"));
            let drained_at = begin + 2 * random.u64(..25_000_000) + 1;
            expect(&mut expected, &id, &drained, drained_at);
            let live = random
                .bool()
                .then(|| random_data(&mut random, &format!("live {n}")));
            if let Some(live) = &live {
                // A client's update is newer than all lines, and than the updates before it.
                expect(&mut expected, &id, live, u64::MAX - 100 + n);
            }
            let others = async {
                drain(&app, &id, &drained, Timestamp::from_millis(drained_at)).await;
                if let Some(live) = &live {
                    send(&app, &key, &id, live).await;
                }
            };
            tokio::join!(importing, others);
        }
        random.shuffle(&mut file);
        let whole = text(&file, &mut random);
        import(&app, &operator, &whole, None).await;
        assert_as_expected(&app, &expected, seed).await;
        let before = items_by_key(&app).await;
        import(&app, &operator, &whole, None).await;
        assert_as_expected(&app, &expected, seed).await;
        assert_eq!(items_by_key(&app).await, before, "seed {seed}");
    }
}

async fn items_by_key(app: &TestApp) -> BTreeMap<String, Item> {
    let items = app.items("CustomersTable").await;
    let with_key = |item: Item| (item["pk"].as_s().unwrap().clone(), item);
    items.into_iter().map(with_key).collect()
}

async fn assert_as_expected(app: &TestApp, expected: &Expected, seed: u64) {
    for ((id, field), (time, value)) in expected {
        let item = app.customer("shop", id).await.unwrap();
        let (stored, stored_at) = &fields(&item)[field];
        assert_eq!(stored, value, "seed {seed}: {field} of {id}");
        let is_of_client = *time > u64::MAX - 200;
        assert!(
            is_of_client || stored_at == time,
            "seed {seed}: {field} of {id} has the time {stored_at}, not {time}"
        );
    }
}
