//! Reads what is stored, past the functions and the faults. This module must not know what was sent,
//! nor where the tables are.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::generated::{CANARY, subject_number};
use crate::item::{kept_signal, stored_signal, text};
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
    let mut signals = Vec::new();
    for_each("SignalsTable", &mut |item| {
        signals.push(KeyedSignal::read(item, retention));
    });
    // A query reads a history by the bytes of the sort key.
    signals.sort_unstable_by(|a, b| (&a.partition, &a.sort).cmp(&(&b.partition, &b.sort)));
    let mut rejected = Vec::new();
    for_each("RejectedSignalsTable", &mut |item| {
        rejected.push(kept_signal(text(&item["payload"])));
    });
    let mut customers = HashMap::new();
    for_each("CustomersTable", &mut |item| {
        let subject = subject_of(text(&item["accountId"]), text(&item["customerId"]));
        customers.insert(subject.unwrap_or(u32::MAX), profile_fields(item));
    });
    Stored {
        signals: signals.into_iter().map(|keyed| keyed.signal).collect(),
        rejected,
        customers,
    }
}

/// A signal with the keys of its item, by which it is sorted.
struct KeyedSignal {
    partition: String,
    sort: String,
    signal: StoredSignal,
}

impl KeyedSignal {
    fn read(item: &mut Value, retention: Duration) -> Self {
        let partition = text(&item["pk"]).to_owned();
        let sort = text(&item["sk"]).to_owned();
        // An item has only one of them.
        let subject_id = text(&item["customerId"]).max(text(&item["emitterId"]));
        let subject = subject_of(text(&item["accountId"]), subject_id);
        Self {
            partition,
            sort,
            signal: stored_signal(item, subject, retention),
        }
    }
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
