//! The table Signals: one item per signal. The keys are chosen so that one Query returns the
//! history of a customer or an emitter in order, and so that a retry overwrites its own items.

use std::time::Duration;

use aws::deadline::Deadline;
use aws::variables::{ConfigError, Variables};
use aws_sdk_dynamodb::Client;
use model::signal::{Identity, Signal};
use model::timestamp::Timestamp;

use crate::batch_context::BatchContext;
use crate::bulk_write::{BulkItem, BulkWriter, ItemOutcome};
use crate::dynamodb_json::DynamoDbJson;

/// The most calls of a process at the same time. The largest request has 500 signals, and a call
/// takes 25 of them, so all of its calls are made at once.
const CONCURRENT_CALLS: usize = 20;

/// The table of the valid signals.
#[derive(Clone, Debug)]
pub struct SignalsTable {
    writer: BulkWriter,
    retention: Option<Duration>,
}

impl SignalsTable {
    /// The environment variable that names the table.
    pub const VARIABLE: &str = "SIGNALS_TABLE";

    /// The environment variable with the days after which signals expire; with 0, they never expire.
    pub const RETENTION_VARIABLE: &str = "SIGNAL_RETENTION_DAYS";

    /// The table called `table`. Signals expire `retention` after they were received, or never.
    pub fn new(client: Client, table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self {
            writer: BulkWriter::new(client, table, CONCURRENT_CALLS),
            retention,
        }
    }

    /// The retention of signals that the variable sets. `None` if they never expire.
    ///
    /// # Errors
    /// When the variable is missing or malformed.
    pub fn retention(variables: &Variables) -> Result<Option<Duration>, ConfigError> {
        let days = variables.whole_number(Self::RETENTION_VARIABLE)?;
        Ok((days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60))))
    }

    /// The same table for one message of a drain, whose signals expire after another time, or
    /// never.
    #[must_use]
    pub fn with_own_call_limit(&self, retention: Option<Duration>) -> Self {
        Self {
            writer: self.writer.with_own_call_limit(),
            retention,
        }
    }

    /// When signals that were received at `received_at` expire.
    pub fn expires_at(&self, received_at: Timestamp) -> Option<Timestamp> {
        self.retention.map(|retention| received_at.plus(retention))
    }

    /// Stores signals of several batches. No two of them may have the same time, `requestIdentifier` and
    /// index. Returns what became of each, in their order.
    pub async fn store_of_batches<'s>(
        &self,
        signals: &[(BatchContext<'_>, &'s Signal<'s>)],
        deadline: Deadline,
    ) -> Vec<ItemOutcome> {
        let common: Vec<_> = signals
            .iter()
            .map(|(context, _)| {
                CommonAttributes::new(*context, self.expires_at(context.first_received_at))
            })
            .collect();
        let items = common
            .iter()
            .zip(signals)
            .map(|(common, (_, signal))| SignalItem { common, signal })
            .collect();
        self.writer.put_all(items, deadline).await
    }

    /// Stores signals. Returns what became of each, in their order.
    pub async fn store<'s>(
        &self,
        context: BatchContext<'_>,
        signals: impl IntoIterator<Item = &'s Signal<'s>>,
        deadline: Deadline,
    ) -> Vec<ItemOutcome> {
        let common = &CommonAttributes::new(context, self.expires_at(context.first_received_at));
        let items = signals
            .into_iter()
            .map(|signal| SignalItem { common, signal })
            .collect();
        self.writer.put_all(items, deadline).await
    }
}

/// What all items of one request have in common, formatted once.
struct CommonAttributes {
    /// `accountId#`; the customer or the emitter follows.
    partition_prefix: String,
    /// `receivedAt#requestIdentifier#`; the index follows, in four digits.
    sort_prefix: String,
    /// The other attributes that all items have, each after a comma.
    attributes: DynamoDbJson,
}

impl CommonAttributes {
    fn new(context: BatchContext<'_>, expires_at: Option<Timestamp>) -> Self {
        let received_at = context.first_received_at.to_string();
        let mut attributes = DynamoDbJson::default();
        attributes.push_string_attribute("accountId", context.account_id.as_str());
        attributes.push_string_attribute("requestIdentifier", context.request_identifier.as_sent());
        attributes.push_string_attribute("receivedAt", &received_at);
        if let Some(end) = expires_at {
            attributes.push_text(&format!(",\"expiresAt\":{{\"N\":\"{}\"}}", end.seconds()));
        }
        Self {
            partition_prefix: context.account_id.partition_key(""),
            sort_prefix: format!("{received_at}#{}#", context.request_identifier.canonical()),
            attributes,
        }
    }
}

#[derive(Clone, Copy)]
struct SignalItem<'a> {
    common: &'a CommonAttributes,
    signal: &'a Signal<'a>,
}

impl BulkItem for SignalItem<'_> {
    fn sort_key(self) -> String {
        format!("{}{:04}", self.common.sort_prefix, self.signal.index())
    }

    fn text_bytes(self) -> usize {
        self.signal.payload().len()
    }

    fn write(self, json: &mut DynamoDbJson) {
        let Self { common, signal } = self;
        json.push_text("{\"pk\":{\"S\":");
        json.push_serialized([common.partition_prefix.as_str(), signal.subject_id()].concat());
        json.push_text("}");
        json.push_string_attribute("sk", &self.sort_key());
        match signal.identity() {
            Identity::Event {
                customer_id,
                event_type,
            } => {
                json.push_string_attribute("customerId", customer_id);
                json.push_string_attribute("eventType", event_type);
            }
            Identity::Step {
                emitter_id,
                step_node_id,
            } => {
                json.push_string_attribute("emitterId", emitter_id);
                json.push_string_attribute("stepNodeId", step_node_id);
            }
        }
        if let Some(flow) = signal.eventflow_identifier() {
            json.push_string_attribute("eventflowIdentifier", flow);
        }
        json.push_text(",\"data\":");
        json.push_attribute_value(signal.data());
        if let Some(unknown_fields) = signal.unknown_fields() {
            json.push_text(",\"undocumented\":{\"M\":{");
            let mut separator = "";
            for (name, value) in unknown_fields {
                json.push_text(separator);
                json.push_text(name.quoted());
                json.push_text(":");
                json.push_attribute_value(value);
                separator = ",";
            }
            json.push_text("}}");
        }
        json.append(&common.attributes);
        json.push_text("}");
    }
}
