//! Writes signals, and counts them.

use anyhow::Result;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::item::{Item, Json, display, json_object, text};
use crate::output::{Format, Table, print_json};

pub(super) struct Listing {
    format: Format,
    table: Table,
    /// Whether a row says which customer or emitter a signal is about.
    shows_subject: bool,
    pub(super) count: usize,
}

impl Listing {
    /// Lists the signals of one customer or emitter.
    pub(super) fn of_subject(format: Format) -> Self {
        let table = Table::with_heading(["RECEIVED", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal();
        Self { format, table, shows_subject: false, count: 0 }
    }

    /// Lists the signals of an account.
    pub(super) fn of_account(format: Format) -> Self {
        let table = Table::with_heading(["RECEIVED", "SUBJECT ID", "EVENT/STEP", "FLOW", "DATA"]).cut_to_terminal();
        Self { format, table, shows_subject: true, count: 0 }
    }

    pub(super) fn add(&mut self, signals: &[Item]) -> Result<()> {
        self.count += signals.len();
        if self.format == Format::Json {
            return signals.iter().try_for_each(|signal| {
                let (index, mut json) = (index(signal), json_object(signal, &["pk", "sk", "accountId"]));
                json.extend(index.as_ref().map(|index| ("index", Json(index))));
                print_json(&json)
            });
        }
        for signal in signals {
            let either = |one, other| text(signal, one).or_else(|| text(signal, other)).unwrap_or_default();
            let (received, action) =
                (text(signal, "receivedAt").unwrap_or_default(), either("eventType", "stepNodeId"));
            let flow = text(signal, "eventflowIdentifier").unwrap_or_default();
            let data = signal.get("data").map(display).unwrap_or_default();
            if self.shows_subject {
                self.table.row([received, either("customerId", "emitterId"), action, flow, &data]);
            } else {
                self.table.row([received, action, flow, &data]);
            }
        }
        if signals.is_empty() { Ok(()) } else { self.table.print() }
    }
}

/// The index of the signal in its request, which is only in its key: an import needs it to store the signal again.
fn index(signal: &Item) -> Option<AttributeValue> {
    let index: u64 = text(signal, "sk")?.rsplit('#').next()?.parse().ok()?;
    Some(AttributeValue::N(index.to_string()))
}
