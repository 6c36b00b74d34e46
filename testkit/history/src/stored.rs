//! Reads what is stored from the emulator, past the functions and the faults. Must not know what
//! was sent.

use std::collections::HashMap;
use std::time::Duration;

use crate::consistency::{Stored, kept_signal, stored_signal};
use emulator::Emulator;
use model::customer::is_reserved;
use serde_json::Value;

use crate::load::{CANARY, subject};
use testkit::Tables;

/// Everything in the tables of signals, rejected signals and customers. Signals have to expire
/// after `retention`.
pub(super) fn read(emulator: &Emulator, retention: Duration) -> Stored {
    let for_each = |table: &str, each: &mut dyn FnMut(&mut Value)| {
        emulator
            .for_each_item(Tables::name(table), each)
            .expect("the emulator can be read");
    };
    let mut signals = Vec::new();
    for_each("SignalsTable", &mut |item| {
        let keys = [text(&item["pk"]), text(&item["sk"])].map(ToOwned::to_owned);
        let id = text(&item["customerId"]).max(text(&item["emitterId"]));
        let who = who(text(&item["accountId"]), id);
        signals.push((keys, stored_signal(item, who, Some(retention))));
    });
    // As a Query reads them: by the bytes of the sort key.
    signals.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut rejected = Vec::new();
    for_each("RejectedSignalsTable", &mut |item| {
        rejected.push(kept_signal(text(&item["payload"])));
    });
    let mut customers = HashMap::new();
    for_each("CustomersTable", &mut |item| {
        let fields = item
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !is_reserved(name));
        let fields = fields
            .map(|(name, value)| (name.clone(), text(value).to_owned()))
            .collect();
        let who = who(text(&item["accountId"]), text(&item["customerId"]));
        customers.insert(who.unwrap_or(u32::MAX), fields);
    });
    Stored {
        signals: signals.into_iter().map(|(_, signal)| signal).collect(),
        rejected,
        customers,
    }
}

/// A string of an item.
fn text(value: &Value) -> &str {
    value["S"].as_str().unwrap_or_default()
}

/// The number of a customer or an emitter, out of its account and its id.
pub(super) fn who(account_id: &str, id: &str) -> Option<u32> {
    let account = account_id.strip_prefix("history-")?.parse().ok()?;
    Some(subject(
        account,
        id.strip_prefix(CANARY)?.strip_prefix('-')?.parse().ok()?,
    ))
}
