//! Which acknowledged requests are not stored. Must not know how they were stored.

use std::collections::HashMap;

use anyhow::Result;
use emulator::Emulator;
use serde_json::Value;
use testkit::Tables;

use crate::traffic::{Kind, Outcome, Request};

/// How many of the acknowledged requests are not stored whole, the hot customer's left out.
///
/// # Errors
/// When the emulator cannot be read.
pub(crate) fn count_lost(emulator: &Emulator, kind: Kind, requests: &[Request]) -> Result<usize> {
    let mut items: HashMap<String, u64> = HashMap::new();
    emulator.for_each_item(Tables::name(kind.table()), |item| {
        let customer_id = item.pointer("/customerId/S").and_then(Value::as_str);
        *items
            .entry(customer_id.unwrap_or_default().to_owned())
            .or_default() += 1;
    })?;
    let is_lost = |request: &&Request| {
        let is_acknowledged = matches!(request.outcome, Outcome::Stored | Outcome::Deferred);
        let expected = match kind {
            Kind::Updates => 1,
            Kind::Batches => request.items,
        };
        is_acknowledged
            && request
                .customer_id
                .as_ref()
                .is_some_and(|id| items.get(id).copied().unwrap_or_default() < expected)
    };
    Ok(requests.iter().filter(is_lost).count())
}
