//! The table Signals: one item a signal, keyed so that one Query reads who did what in order, and so that a retry
//! writes the same items over themselves.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use crate::StoreError;
use crate::batch_write::BatchTable;
use crate::signal_item::{RequestItems, SignalItem};
use model::account::AccountId;
use model::deadline::Deadline;
use model::identifier::RequestIdentifier;
use model::signal::Signal;
use model::timestamp::Timestamp;

/// Calls of a request at once.
const CALLS_AT_ONCE: usize = 16;

/// The table.
#[derive(Clone, Debug)]
pub struct SignalsTable {
    table: BatchTable,
    retention: Option<Duration>,
}

/// What all signals of one request have in common.
#[derive(Clone, Copy, Debug)]
pub struct BatchContext<'a> {
    /// Whose they are.
    pub account_id: &'a AccountId,
    /// Which request brought them.
    pub request_identifier: &'a RequestIdentifier,
    /// When it first arrived.
    pub received_at: Timestamp,
}

impl SignalsTable {
    /// The table called `table`. Signals expire `retention` after their arrival, or never.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, retention: Option<Duration>) -> Self {
        Self { table: BatchTable::new(client, table, CALLS_AT_ONCE), retention }
    }

    /// Stores signals; returns the indices of those that DynamoDB refused, in order. When it returns, every other one
    /// is acknowledged.
    ///
    /// # Errors
    /// When DynamoDB did not take all of them before the deadline: some may be stored, some not.
    pub async fn put(
        &self,
        context: BatchContext<'_>,
        signals: &[Signal<'_>],
        deadline: Deadline,
    ) -> Result<Vec<usize>, StoreError> {
        let request = &RequestItems::of(context, self.retention);
        let items = signals.iter().map(|signal| SignalItem { request, signal }).collect();
        let mut refused: Vec<_> = self.table.put(items, deadline).await?.iter().map(|item| item.signal.index).collect();
        refused.sort_unstable();
        Ok(refused)
    }
}
