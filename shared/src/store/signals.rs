//! The table Signals: one item a signal, keyed so that one Query reads who did what in order, and so that a retry
//! writes the same items over themselves.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::batch_write::{Retries, Unprocessed, batches, send_unprocessed};
use super::signal_item::SignalItems;
use super::wire::Wire;
use super::{StoreError, connection_is_free};
use crate::invocation::Budget;
use crate::model::account::AccountId;
use crate::model::identifier::RequestIdentifier;
use crate::model::signal::Signal;
use crate::model::timestamp::Timestamp;

/// Calls at once. One call occupies a connection, so this is also how many connections a request opens.
const CALLS_AT_ONCE: usize = 16;

/// The table.
#[derive(Clone, Debug)]
pub struct Signals {
    client: Client,
    table: String,
    retention: Option<Duration>,
    retries: Retries,
}

/// What all signals of one request have in common.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Whose they are.
    pub account_id: &'a AccountId,
    /// Which request brought them.
    pub request_identifier: &'a RequestIdentifier,
    /// When it first arrived.
    pub received_at: Timestamp,
}

impl Signals {
    /// The table called `table`. Signals expire `retention` after their arrival, or never.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { client, table: table.into(), retention, retries: Retries::default() }
    }

    /// Stores signals; returns the indices of those that DynamoDB refused, in order. When it returns, every other one
    /// is acknowledged.
    ///
    /// # Errors
    /// When DynamoDB could not be had for all of them: some may be stored, some not.
    pub async fn put(
        &self,
        origin: Origin<'_>,
        signals: &[Signal<'_>],
        budget: Budget,
    ) -> Result<Vec<usize>, StoreError> {
        let items = &SignalItems::of(origin, self.retention);
        let batches = batches(signals, |signal| signal.payload.len());
        let some_wait = batches.len() > CALLS_AT_ONCE;
        let put = async |batch| {
            let refused = self.put_batch(items, batch, budget).await;
            if some_wait {
                connection_is_free().await;
            }
            refused
        };
        let calls: Vec<_> = batches.into_iter().map(put).collect();
        let refused: Vec<Vec<usize>> = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE).try_collect().await?;
        let mut refused = refused.concat();
        refused.sort_unstable();
        Ok(refused)
    }

    async fn put_batch(
        &self,
        items: &SignalItems,
        batch: &[Signal<'_>],
        budget: Budget,
    ) -> Result<Vec<usize>, StoreError> {
        match self.send_batch(items, batch, budget).await {
            Ok(unprocessed) => {
                send_unprocessed(&self.client, batch.len(), unprocessed, &self.retries, budget).await?;
                Ok(Vec::new())
            }
            // One of them spoilt the batch, and DynamoDB does not say which.
            Err(StoreError::Refused | StoreError::ItemTooLarge) => self.put_one_by_one(items, batch, budget).await,
            Err(error) => Err(error),
        }
    }

    async fn send_batch(
        &self,
        items: &SignalItems,
        batch: &[Signal<'_>],
        budget: Budget,
    ) -> Result<Unprocessed, StoreError> {
        let bytes =
            batch.iter().fold(256_usize, |sum, signal| sum.saturating_add(signal.payload.len()).saturating_add(700));
        let mut wire = Wire::with_capacity(bytes);
        wire.raw("{\"RequestItems\":{");
        wire.string(&self.table);
        wire.raw(":[");
        let mut separator = "{\"PutRequest\":{\"Item\":";
        for signal in batch {
            wire.raw(separator);
            items.write(&mut wire, signal);
            separator = "}},{\"PutRequest\":{\"Item\":";
        }
        wire.raw("}}]}}");
        // The body is replaced; the table is named for the SDK to find its endpoint by.
        let call = self.client.batch_write_item().request_items(&self.table, Vec::new());
        let call = call.customize().mutate_request(wire.into_body());
        Ok(budget.spend(call.send()).await??.unprocessed_items.unwrap_or_default())
    }

    async fn put_one_by_one(
        &self,
        items: &SignalItems,
        batch: &[Signal<'_>],
        budget: Budget,
    ) -> Result<Vec<usize>, StoreError> {
        let mut refused = Vec::new();
        for signal in batch {
            let mut wire = Wire::default();
            wire.raw("{\"TableName\":");
            wire.string(&self.table);
            wire.raw(",\"Item\":");
            items.write(&mut wire, signal);
            wire.raw("}");
            let call = self.client.put_item().table_name(&self.table).customize().mutate_request(wire.into_body());
            match budget.spend(call.send()).await?.map_err(StoreError::from) {
                Ok(_) => {}
                Err(StoreError::Refused | StoreError::ItemTooLarge) => refused.push(signal.index),
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }
}
