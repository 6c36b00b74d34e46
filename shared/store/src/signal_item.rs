//! The item of a signal on DynamoDB's wire: its key, the contract's members under their own names, and where it came from.
//!
//! What all signals of a request have in common is written down once a request.

use std::time::Duration;

use crate::batch_write::BatchItem;
use crate::dynamodb_json::DynamoDbJson;
use crate::signals::BatchContext;
use model::signal::{Identity, Signal};

/// What the items of one request have in common.
pub(super) struct RequestItems {
    /// `accountId#`: the customer or the emitter follows.
    partition: String,
    /// `receivedAt#requestIdentifier#`: the index follows, in four digits.
    sort: String,
    /// The attributes that every item has.
    common: DynamoDbJson,
}

impl RequestItems {
    pub(super) fn of(context: BatchContext<'_>, retention: Option<Duration>) -> Self {
        let received_at = context.received_at.to_string();
        let mut common = DynamoDbJson::default();
        common.string_attribute("accountId", context.account_id.as_str());
        common.raw(",");
        common.string_attribute("requestIdentifier", context.request_identifier.as_sent());
        common.raw(",");
        common.string_attribute("receivedAt", &received_at);
        if let Some(retention) = retention {
            common.raw(&format!(",\"expiresAt\":{{\"N\":\"{}\"}}", context.received_at.plus(retention).seconds()));
        }
        Self {
            partition: context.account_id.partition_key(""),
            sort: format!("{received_at}#{}#", context.request_identifier.canonical()),
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

    fn write(self, json: &mut DynamoDbJson) {
        let Self { request, signal } = self;
        let [(who, who_value), (what, what_value)] = match &signal.identity {
            Identity::Event { customer_id, event_type } => [("customerId", customer_id), ("eventType", event_type)],
            Identity::Step { emitter_id, step_node_id } => [("emitterId", emitter_id), ("stepNodeId", step_node_id)],
        };
        json.raw("{");
        json.string_attribute("pk", &[&request.partition, who_value.as_ref()].concat());
        json.raw(",");
        json.string_attribute("sk", &self.sort_key());
        json.raw(",");
        json.string_attribute(who, who_value);
        json.raw(",");
        json.string_attribute(what, what_value);
        if let Some(flow) = &signal.eventflow_identifier {
            json.raw(",");
            json.string_attribute("eventflowIdentifier", flow.as_str());
        }
        json.raw(",\"data\":");
        json.attribute_value(signal.data);
        if !signal.unknown_fields.is_empty() {
            json.raw(",\"undocumented\":{\"M\":{");
            let mut separator = "";
            for (name, value) in signal.unknown_fields.iter() {
                json.raw(separator);
                json.raw(name.quoted());
                json.raw(":");
                json.attribute_value(value);
                separator = ",";
            }
            json.raw("}}");
        }
        json.raw(",");
        json.append(&request.common);
        json.raw("}");
    }
}
