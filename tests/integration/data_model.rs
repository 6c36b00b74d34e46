//! docs/data-model.md has the tables of template.yaml, and the attributes of items that the
//! functions really store.
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod key_snapshot;
mod names;
mod stored;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use model::customer::attributes::{FENCE_PREFIX, GENERATION};
use serde_json::{Value, json};

use self::stored::stored;
use crate::support::items::{item_json, type_of};
use crate::support::page::{Page, quoted};

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

#[tokio::test]
async fn stored_attributes_are_the_documented_ones_with_their_types() {
    let items = stored().await;
    for table in TABLES {
        let attributes = documented(table);
        let mut seen = BTreeSet::new();
        for item in &items[table] {
            for (name, value) in item {
                let name = match name.as_str() {
                    name if attributes.contains_key(name) => name,
                    name if name.starts_with(FENCE_PREFIX) => FENCE_PREFIX,
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
    let mut examples = 0;
    for table in TABLES {
        let found: Vec<_> = items[table].iter().map(item_json).collect();
        for example in page().code(table, "json") {
            examples += 1;
            let (mut example, mut found): (Value, _) =
                (serde_json::from_str(example).unwrap(), found.clone());
            for item in found.iter_mut().chain([&mut example]) {
                leave_out_what_is_random(table, item);
            }
            assert!(
                found.contains(&example),
                "{table} holds no such item, but these:\n{}",
                json!(found)
            );
        }
    }
    assert!(examples >= 5, "the page has {examples} examples of items");
}

/// The id of an update, the lower bits of its fence and the generation are random, and so is the
/// hash of a key.
fn leave_out_what_is_random(table: &str, item: &mut Value) {
    match table {
        "ApiKeys" => item["keyHash"]["S"] = json!(item["keyHash"]["S"].as_str().unwrap().len()),
        "Customers" => {
            item["fenceId"]["B"] = json!(item["fenceId"]["B"].as_str().unwrap().len());
            item[GENERATION]["N"] = json!("0");
            let attributes = item.as_object_mut().unwrap().iter_mut();
            for (_, value) in
                attributes.filter(|(name, _)| *name == "fence" || name.starts_with(FENCE_PREFIX))
            {
                *value = json!(value["N"].as_str().unwrap().parse::<u64>().unwrap() >> 20);
            }
        }
        _ => {}
    }
}
