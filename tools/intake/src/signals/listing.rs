//! Writes signals, and counts them.

use anyhow::Result;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::item::{Item, Json, display, json_object, text};
use crate::output::{Format, Table};

pub(super) struct Listing {
    table: Table,
    pub(super) count: usize,
}

impl Listing {
    pub(super) fn new(format: Format) -> Self {
        let table = Table::new(format, ["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal();
        Self { table, count: 0 }
    }

    pub(super) fn add(&mut self, signals: &[Item]) -> Result<()> {
        self.count += signals.len();
        for signal in signals {
            let (index, mut json) = (index(signal), json_object(signal, &["pk", "sk", "accountId"]));
            json.extend(index.as_ref().map(|index| ("index", Json(index))));
            let text = |name| text(signal, name).unwrap_or_default();
            // A signal has one of the two.
            let action = [text("eventType"), text("stepNodeId")].concat();
            let data = signal.get("data").map(display).unwrap_or_default();
            self.table.add(&json, [text("receivedAt"), &action, text("eventflowIdentifier"), &data])?;
        }
        if signals.is_empty() { Ok(()) } else { self.table.print() }
    }
}

/// The index of the signal in its request, which is only in its key: an import needs it to store the signal again.
fn index(signal: &Item) -> Option<AttributeValue> {
    let index: u64 = text(signal, "sk")?.rsplit('#').next()?.parse().ok()?;
    Some(AttributeValue::N(index.to_string()))
}
