//! The table Signals: one item per signal. The keys are chosen so that one Query returns the history of a customer or an
//! emitter in order, and so that a retry overwrites its own items.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use model::signal::Signal;
use model::timestamp::Timestamp;

use crate::batch_context::BatchContext;
use crate::batch_write::{BatchItem, BatchTable};
use crate::dynamodb_json::DynamoDbJson;
use crate::error::UnstoredSignals;
use crate::patience::Patience;

/// Calls of a process at the same time.
const CONCURRENT_CALLS: usize = 16;

/// The table.
#[derive(Clone, Debug)]
pub struct SignalsTable {
    table: BatchTable,
    retention: Option<Duration>,
}

impl SignalsTable {
    /// The table called `table`. Signals expire `retention` after they were received, or never.
    pub fn new(client: Client, table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { table: BatchTable::new(client, table, CONCURRENT_CALLS), retention }
    }

    /// The same table, whose signals expire after another time, or never.
    #[must_use]
    pub fn with_retention(&self, retention: Option<Duration>) -> Self {
        Self { table: self.table.clone(), retention }
    }

    /// When signals that were received at `received_at` expire.
    pub fn expires_at(&self, received_at: Timestamp) -> Option<Timestamp> {
        self.retention.map(|retention| received_at.plus(retention))
    }

    /// Whether a signal that was received at `received_at` has expired: DynamoDB would delete it at once.
    pub fn has_expired(&self, received_at: Timestamp, now: Timestamp) -> bool {
        self.expires_at(received_at).is_some_and(|end| end <= now)
    }

    /// Stores signals. Returns the indices of those that DynamoDB found invalid, in order; every other one is stored.
    ///
    /// # Errors
    /// When DynamoDB did not acknowledge all of them before the deadline.
    pub async fn put(
        &self,
        context: BatchContext<'_>,
        signals: &[Signal<'_>],
        patience: impl Into<Patience>,
    ) -> Result<Vec<usize>, UnstoredSignals> {
        let common = &CommonAttributes::new(context, self.expires_at(context.received_at));
        let items = signals.iter().map(|signal| SignalItem { common, signal }).collect();
        self.table.put(items, patience).await
    }
}

/// What all items of one request have in common, formatted once.
struct CommonAttributes {
    /// `accountId#`; the customer or the emitter follows.
    partition_prefix: String,
    /// `receivedAt#requestIdentifier#`; the index follows, in four digits.
    sort_prefix: String,
    attributes: DynamoDbJson,
}

impl CommonAttributes {
    fn new(context: BatchContext<'_>, expires_at: Option<Timestamp>) -> Self {
        let received_at = context.received_at.to_string();
        let mut attributes = DynamoDbJson::default();
        attributes.string_attribute("accountId", context.account_id.as_str());
        attributes.raw(",");
        attributes.string_attribute("requestIdentifier", context.request_identifier.as_sent());
        attributes.raw(",");
        attributes.string_attribute("receivedAt", &received_at);
        if let Some(end) = expires_at {
            attributes.raw(&format!(",\"expiresAt\":{{\"N\":\"{}\"}}", end.seconds()));
        }
        Self {
            partition_prefix: context.account_id.partition_key(""),
            sort_prefix: format!("{received_at}#{}#", context.request_identifier.canonical()),
            attributes,
        }
    }
}

/// The item of one signal.
#[derive(Clone, Copy)]
struct SignalItem<'a> {
    common: &'a CommonAttributes,
    signal: &'a Signal<'a>,
}

impl SignalItem<'_> {
    fn partition_key(self) -> String {
        [&self.common.partition_prefix, self.signal.subject_id()].concat()
    }
}

impl BatchItem for SignalItem<'_> {
    fn index(self) -> usize {
        self.signal.index()
    }

    fn sort_key(self) -> String {
        format!("{}{:04}", self.common.sort_prefix, self.signal.index())
    }

    fn text_bytes(self) -> usize {
        self.signal.payload().len()
    }

    fn write(self, json: &mut DynamoDbJson) {
        let Self { common, signal } = self;
        let [(subject, subject_id), (action, action_value)] = signal.identity();
        json.raw("{");
        json.string_attribute("pk", &self.partition_key());
        json.raw(",");
        json.string_attribute("sk", &self.sort_key());
        json.raw(",");
        json.string_attribute(subject, subject_id);
        json.raw(",");
        json.string_attribute(action, action_value);
        if let Some(flow) = signal.eventflow_identifier() {
            json.raw(",");
            json.string_attribute("eventflowIdentifier", flow);
        }
        json.raw(",\"data\":");
        json.attribute_value(signal.data());
        if let Some(unknown_fields) = signal.unknown_fields() {
            json.raw(",\"undocumented\":{\"M\":{");
            let mut separator = "";
            for (name, value) in unknown_fields {
                json.raw(separator);
                json.raw(name.quoted());
                json.raw(":");
                json.attribute_value(value);
                separator = ",";
            }
            json.raw("}}");
        }
        json.raw(",");
        json.append(&common.attributes);
        json.raw("}");
    }
}
