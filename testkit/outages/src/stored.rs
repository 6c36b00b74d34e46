//! Which acknowledged requests are not stored.

use std::collections::HashMap;

use anyhow::Result;
use emulator::Emulator;
use serde_json::Value;
use testkit::table_name;

use crate::request_kind::RequestKind;
use crate::traffic::{RequestOutcome, SentRequest};

/// How many of the acknowledged requests are not stored whole, the hot customer's left out.
///
/// # Errors
/// When the emulator cannot be read.
pub(crate) fn count_lost(
    emulator: &Emulator,
    kind: RequestKind,
    requests: &[SentRequest],
) -> Result<usize> {
    let mut items: HashMap<String, u64> = HashMap::new();
    emulator.for_each_item(table_name(kind.table()), |item| {
        let customer_id = item.pointer("/customerId/S").and_then(Value::as_str);
        let customer_id = customer_id.unwrap_or_default().to_owned();
        *items.entry(customer_id).or_default() += 1;
    })?;
    let mut lost = 0;
    for request in requests {
        let is_acknowledged = matches!(
            request.outcome,
            RequestOutcome::Stored | RequestOutcome::Deferred
        );
        let Some(customer_id) = &request.customer_id else {
            continue;
        };
        let stored = items.get(customer_id).copied().unwrap_or_default();
        if is_acknowledged && stored < request.items {
            lost += 1;
        }
    }
    Ok(lost)
}
