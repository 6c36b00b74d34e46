//! The redrive of one signal. Must not know which signals are chosen, nor how results are printed.

use anyhow::Result;
use aws::deadline::Deadline;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::TryStreamExt as _;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::{Identity, Signal};
use model::timestamp::Timestamp;
use model::validation::{FieldError, FieldErrorCode};
use store::ItemOutcome;
use store::attributes::{Item, attribute_value};
use store::batch_context::BatchContext;
use store::same_value::is_same_value;

use super::redrive_outcome::RedriveOutcome;
use super::{Candidate, Redrive};
use crate::WRITE_TIMEOUT;
use crate::error::write_error;
use crate::items::{partition_query, query_items, text};
use crate::rejected::rejected_signal::RejectedSignal;
use crate::rejected::rejected_signal_id::SortKeyPattern;

impl Redrive<'_> {
    /// Stores the signal of one candidate and deletes the rejected signal, or finds out why not. A dry
    /// run stores and deletes nothing.
    pub(super) async fn redrive_one(&self, candidate: &Candidate) -> Result<RedriveOutcome> {
        let found = self
            .rejected_table
            .find(self.account, &candidate.id)
            .await?;
        let Some(found) = found else {
            let is_stored = self.is_stored(candidate).await?;
            return Ok(if is_stored {
                RedriveOutcome::Accepted
            } else {
                RedriveOutcome::Missing
            });
        };
        let expires_at = self.signals_table.expires_at(found.received_at);
        if expires_at.is_some_and(|end| end <= Timestamp::now()) {
            return Ok(RedriveOutcome::Expired);
        }
        let signal = match parse(&candidate.payload, found.index) {
            Ok(signal) => signal,
            Err(errors) => return Ok(RedriveOutcome::Rejected(errors)),
        };
        if self.dry_run {
            return Ok(RedriveOutcome::Accepted);
        }
        let outcome = self.store(&found, signal).await?;
        if let RedriveOutcome::Accepted = outcome {
            let key = candidate.id.key(self.account);
            self.rejected_table.delete(&[key]).await?;
        }
        Ok(outcome)
    }

    /// Stores a signal as if it had been valid in the request that it came with.
    async fn store(&self, found: &RejectedSignal, signal: Signal<'_>) -> Result<RedriveOutcome> {
        let context = BatchContext {
            account_id: self.account,
            key_id: "",
            request_identifier: &found.request_identifier,
            first_received_at: found.received_at,
            request_id: "",
        };
        let deadline = Deadline::after(WRITE_TIMEOUT);
        for outcome in self.signals_table.store(context, &[signal], deadline).await {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Refused(_) => {
                    let error = FieldError::refused_by_store(&JsonPointer::Root);
                    return Ok(RedriveOutcome::Rejected(vec![error]));
                }
                ItemOutcome::Unstored(error) => {
                    return Err(write_error(&self.tables.signals, &error));
                }
            }
        }
        Ok(RedriveOutcome::Accepted)
    }

    /// Whether the signal of a candidate is stored already, with this payload. An earlier run did that,
    /// and deleted the rejected signal.
    async fn is_stored(&self, candidate: &Candidate) -> Result<bool> {
        let Ok(signal) = parse(&candidate.payload, 0) else {
            return Ok(false);
        };
        let partition = self.account.partition_key(signal.subject_id());
        let SortKeyPattern { day, end } = candidate.id.stored_sort_key();
        let query = partition_query(&self.tables.dynamodb, &self.tables.signals, partition)
            .key_condition_expression("pk = :pk AND begins_with(sk, :day)")
            .expression_attribute_values(":day", AttributeValue::S(day.to_owned()));
        let has_its_key = |item: &Item| text(item, "sk").is_some_and(|key| key.ends_with(end));
        query_items(&self.tables.dynamodb, query, self.tables.note)
            .try_any(async |item| has_its_key(&item) && is_stored_as(&signal, &item))
            .await
    }
}

/// Whether the item has all that is stored of a signal, whichever request it came with.
fn is_stored_as(signal: &Signal<'_>, item: &Item) -> bool {
    let texts = match signal.identity() {
        Identity::Event {
            customer_id,
            event_type,
        } => [("customerId", customer_id), ("eventType", event_type)],
        Identity::Step {
            emitter_id,
            step_node_id,
        } => [("emitterId", emitter_id), ("stepNodeId", step_node_id)],
    };
    let has_texts = texts
        .iter()
        .all(|(name, value)| text(item, name) == Some(value.as_ref()));
    let has_flow = text(item, "eventflowIdentifier") == signal.eventflow_identifier();
    let has_value = |name: &str, value: Option<AttributeValue>| match (item.get(name), value) {
        (Some(stored), Some(value)) => is_same_value(stored, &value),
        (stored, value) => stored.is_none() && value.is_none(),
    };
    let has_data = has_value("data", Some(attribute_value(signal.data())));
    let unknown_fields = signal.unknown_fields().map(|fields| {
        let named = fields.map(|(name, value)| (name.decode(), attribute_value(value)));
        let decoded = named.filter_map(|(name, value)| Some((name.ok()?.into_owned(), value)));
        AttributeValue::M(decoded.collect())
    });
    has_texts && has_flow && has_data && has_value("undocumented", unknown_fields)
}

/// Parses the payload that is to be stored in place of a rejected signal, by the rules of this version.
///
/// # Errors
/// The payload breaks rules of the API, or it is invalid JSON. The function keeps signals only of
/// requests that are JSON, so a payload is invalid JSON only when it was truncated.
fn parse(payload: &str, index: usize) -> Result<Signal<'_>, Vec<FieldError>> {
    let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
    let path = JsonPointer::Element(&signals, index);
    let Ok(text) = JsonText::parse(payload) else {
        let error = FieldError::new(
            &path,
            FieldErrorCode::TooLarge,
            "was truncated: redrive it from a file",
        );
        return Err(vec![error]);
    };
    Signal::parse(text.value(), index, &path).map_err(|invalid| invalid.errors)
}
