//! Reads what is stored, past the functions and the faults. This module must not know what was sent,
//! nor where the tables are.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::generated::{CANARY, subject_number};
use crate::item::{stored_rejected_signal, stored_signal, text};
use crate::{Stored, StoredSignal};

/// The attributes of a customer's item that are not fields of the profile, as docs/data-model.md
/// lists them. They are written out, so that no code of the service decides what a field is.
const ATTRIBUTES_BESIDE_FIELDS: [&str; 7] = [
    "pk",
    "accountId",
    "customerId",
    "createdAt",
    "updatedAt",
    "fence",
    "fenceId",
];

/// With the name of a field, the attribute of its fence.
const FENCE_PREFIX: &str = "fence:";

/// Everything in the tables of signals, rejected signals and customers. `for_each` gives each item of
/// the table with this logical id, as DynamoDB's JSON, to a function. Signals have to expire after
/// `retention`.
pub fn read(for_each: impl Fn(&str, &mut dyn FnMut(&mut Value)), retention: Duration) -> Stored {
    let mut items = Vec::new();
    for_each("SignalsTable", &mut |item| items.push(item.take()));
    items.sort_unstable_by(|a, b| keys(a).cmp(&keys(b)));
    let signals = items.iter_mut().map(|item| signal(item, retention));
    let mut rejected = Vec::new();
    for_each("RejectedSignalsTable", &mut |item| {
        rejected.push(stored_rejected_signal(text(&item["payload"])));
    });
    let mut customers = HashMap::new();
    for_each("CustomersTable", &mut |item| {
        let subject = subject_of(text(&item["accountId"]), text(&item["customerId"]));
        customers.insert(subject.unwrap_or(u32::MAX), profile_fields(item));
    });
    Stored {
        signals: signals.collect(),
        rejected,
        customers,
    }
}

/// A query reads a history by the bytes of the sort key.
fn keys(item: &Value) -> [&str; 2] {
    [text(&item["pk"]), text(&item["sk"])]
}

fn signal(item: &mut Value, retention: Duration) -> StoredSignal {
    // An item has only one of them.
    let subject_id = text(&item["customerId"]).max(text(&item["emitterId"]));
    let subject = subject_of(text(&item["accountId"]), subject_id);
    stored_signal(item, subject, retention)
}

/// The fields of a profile in the item of a customer.
fn profile_fields(item: &Value) -> HashMap<String, String> {
    let mut fields = HashMap::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        let is_field =
            !ATTRIBUTES_BESIDE_FIELDS.contains(&name.as_str()) && !name.starts_with(FENCE_PREFIX);
        if is_field {
            fields.insert(name.clone(), text(value).to_owned());
        }
    }
    fields
}

/// The number of a customer or an emitter, out of its account and its id.
fn subject_of(account_id: &str, id: &str) -> Option<u32> {
    let account = account_id.strip_prefix("history-")?.parse().ok()?;
    let number = id.strip_prefix(CANARY)?.strip_prefix('-')?.parse().ok()?;
    Some(subject_number(account, number))
}
