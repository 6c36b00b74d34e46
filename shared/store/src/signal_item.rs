//! The item of a signal on DynamoDB's wire: its key, the contract's members under their own names, and where it came from.
//!
//! What all signals of a request have in common is written down once a request.

use std::time::Duration;

use crate::batch_write::BatchItem;
use crate::signals::Origin;
use crate::wire::Wire;
use model::signal::{Identity, Signal};

/// What the items of one request have in common.
pub(super) struct RequestItems {
    /// `accountId#`: the customer or the emitter follows.
    partition: String,
    /// `receivedAt#requestIdentifier#`: the index follows, in four digits.
    sort: String,
    /// The attributes that every item has.
    common: Wire,
}

impl RequestItems {
    pub(super) fn of(origin: Origin<'_>, retention: Option<Duration>) -> Self {
        let received_at = origin.received_at.to_string();
        let mut common = Wire::default();
        common.string_attribute("accountId", origin.account_id.as_str());
        common.raw(",");
        common.string_attribute("requestIdentifier", origin.request_identifier.as_sent());
        common.raw(",");
        common.string_attribute("receivedAt", &received_at);
        if let Some(retention) = retention {
            common.raw(&format!(",\"expiresAt\":{{\"N\":\"{}\"}}", origin.received_at.after(retention).seconds()));
        }
        Self {
            partition: origin.account_id.key(""),
            sort: format!("{received_at}#{}#", origin.request_identifier.canonical()),
            common,
        }
    }
}

/// The item of one signal.
#[derive(Clone, Copy)]
pub(super) struct SignalItem<'a> {
    pub(super) request: &'a RequestItems,
    pub(super) signal: &'a Signal<'a>,
}

impl BatchItem for SignalItem<'_> {
    fn sort_key(self) -> String {
        format!("{}{:04}", self.request.sort, self.signal.index)
    }

    fn text_bytes(self) -> usize {
        self.signal.payload.len()
    }

    fn write(self, wire: &mut Wire) {
        let Self { request, signal } = self;
        let [(who, who_value), (what, what_value)] = match &signal.identity {
            Identity::Event { customer_id, event_type } => [("customerId", customer_id), ("eventType", event_type)],
            Identity::Step { emitter_id, step_node_id } => [("emitterId", emitter_id), ("stepNodeId", step_node_id)],
        };
        wire.raw("{");
        wire.string_attribute("pk", &[&request.partition, who_value.as_ref()].concat());
        wire.raw(",");
        wire.string_attribute("sk", &self.sort_key());
        wire.raw(",");
        wire.string_attribute(who, who_value);
        wire.raw(",");
        wire.string_attribute(what, what_value);
        if let Some(flow) = &signal.eventflow_identifier {
            wire.raw(",");
            wire.string_attribute("eventflowIdentifier", flow.as_str());
        }
        wire.raw(",\"data\":");
        wire.attribute_value(signal.data);
        if !signal.undocumented.is_empty() {
            wire.raw(",\"undocumented\":{\"M\":{");
            let mut separator = "";
            for (name, value) in signal.undocumented.iter() {
                wire.raw(separator);
                wire.raw(name.quoted());
                wire.raw(":");
                wire.attribute_value(value);
                separator = ",";
            }
            wire.raw("}}");
        }
        wire.raw(",");
        wire.append(&request.common);
        wire.raw("}");
    }
}
