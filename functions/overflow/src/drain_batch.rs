//! The drain of a deferred batch: its idempotency record, its signals, and its rejected signals.

use std::time::Duration;

use aws::deadline::Deadline;
use model::batch::Batch;
use model::json::JsonText;
use model::signal::Signal;
use model::timestamp::Timestamp;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::error::StoreError;
use store::idempotency::RecordOutcome;
use store::overflow_messages::{DeferredBatch, MessageError};
use store::rejected_signals::RejectedSignalItem;

use crate::log::{self, DrainedMessage, DrainedSignals};
use crate::{DrainContext, DrainError, NO_PROGRESS_TIMEOUT, OverflowFunction};

/// What the idempotency record says of a deferred batch.
struct RecordCheck {
    /// When the request was first received: the time in the keys of its items.
    first_received_at: Timestamp,
    /// Whether another request has taken the requestIdentifier in between.
    is_conflict: bool,
}

impl OverflowFunction {
    /// Stores the signals and the rejected signals of a message.
    pub(crate) async fn drain_batch(
        &self,
        mut deferred: DeferredBatch<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        // The batch that is read below borrows the message, and these items are moved out of it.
        let rejected_by_request = std::mem::take(&mut deferred.rejected);
        let request_identifier = deferred.request_identifier()?;
        let mut batch = read_signals(&deferred)?;
        let context = BatchContext {
            account_id: &deferred.account_id,
            key_id: &deferred.key_id,
            request_identifier: &request_identifier,
            first_received_at: deferred.received_at,
            request_id: drain_context.request_id,
        };
        let record = self.check_record(&deferred, context, drain_context).await?;
        let context = BatchContext {
            first_received_at: record.first_received_at,
            ..context
        };
        let refused = self
            .store_accepted(&batch.signals, deferred.retention(), context, drain_context)
            .await?;
        batch.reject(&refused);
        self.store_rejected(&batch, rejected_by_request, context, drain_context)
            .await?;
        let signals = DrainedSignals {
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
        };
        log::write_drained(
            drain_context,
            &DrainedMessage {
                account_id: &deferred.account_id,
                key_id: &deferred.key_id,
                deferred_request_at: deferred.received_at,
                first_received_at: record.first_received_at,
                request_identifier: Some(request_identifier.as_sent()),
                signals: Some(signals),
                is_conflict: record.is_conflict,
            },
        );
        Ok(())
    }

    /// Writes the idempotency record of a batch if it needs one, or reads the one that exists.
    async fn check_record(
        &self,
        deferred: &DeferredBatch<'_>,
        context: BatchContext<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<RecordCheck, DrainError> {
        let mut check = RecordCheck {
            first_received_at: context.first_received_at,
            is_conflict: false,
        };
        if !deferred.needs_record {
            return Ok(check);
        }
        let deadline = drain_context.deadline.at_most(NO_PROGRESS_TIMEOUT);
        let outcome = self
            .idempotency
            .write_record(context, &deferred.hashes, drain_context.now, deadline)
            .await?;
        match outcome {
            RecordOutcome::New => {}
            // Another attempt came first, and its items have its time.
            RecordOutcome::Replay { received_at } => check.first_received_at = received_at,
            // The client was told that the signals were accepted, so they are stored all the same.
            RecordOutcome::Conflict => check.is_conflict = true,
        }
        Ok(check)
    }

    /// Stores the accepted signals. Returns the indices of those that were refused for good.
    async fn store_accepted(
        &self,
        signals: &[Signal<'_>],
        retention: Option<Duration>,
        context: BatchContext<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<Vec<usize>, DrainError> {
        let table = self.signals.with_own_call_limit(retention);
        let mut unstored = UnstoredItems::new(signals);
        while !unstored.left.is_empty() {
            let left = unstored.left.iter().copied();
            let deadline = drain_context.deadline.at_most(NO_PROGRESS_TIMEOUT);
            let outcomes = table.store(context, left, deadline).await;
            unstored.add(outcomes, drain_context.deadline)?;
        }
        let refused = unstored.refused.into_iter();
        Ok(refused.map(|refused| refused.item.index()).collect())
    }

    /// Stores the signals that DynamoDB has just refused, and those that the request had rejected.
    async fn store_rejected(
        &self,
        batch: &Batch<'_>,
        rejected_by_request: Vec<RejectedSignalItem<'_>>,
        context: BatchContext<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        let mut rejected: Vec<_> = batch
            .rejected
            .iter()
            .map(|signal| RejectedSignalItem::new(context, signal, drain_context.now))
            .collect();
        for item in rejected_by_request {
            rejected.push(item.of_first_attempt(context, drain_context.now));
        }
        let table = self.rejected.with_own_call_limit();
        let mut unstored = UnstoredItems::new(&rejected);
        while !unstored.left.is_empty() {
            let items = unstored.left.iter().copied();
            let deadline = drain_context.deadline.at_most(NO_PROGRESS_TIMEOUT);
            let outcomes = table.store(items, deadline).await;
            unstored.add(outcomes, drain_context.deadline)?;
        }
        match unstored.refused.into_iter().next() {
            Some(refused) => Err(DrainError::Refused(refused.error)),
            None => Ok(()),
        }
    }
}

/// The items of a message that are not stored yet.
struct UnstoredItems<'i, I> {
    left: Vec<&'i I>,
    /// Those that were refused for good.
    refused: Vec<RefusedItem<'i, I>>,
}

/// An item that was refused for good, and the reason.
struct RefusedItem<'i, I> {
    item: &'i I,
    error: StoreError,
}

impl<'i, I> UnstoredItems<'i, I> {
    fn new(items: &'i [I]) -> Self {
        Self {
            left: items.iter().collect(),
            refused: Vec::new(),
        }
    }

    /// Adds what became of the items that were left, after DynamoDB had [`NO_PROGRESS_TIMEOUT`].
    ///
    /// # Errors
    /// When DynamoDB took none of them, or the deadline has passed. While DynamoDB takes some, the
    /// drain goes on: otherwise a table with little capacity would take a part of each message at
    /// each delivery, and never all of a large one.
    fn add(&mut self, outcomes: Vec<ItemOutcome>, deadline: Deadline) -> Result<(), StoreError> {
        let mut unacknowledged = Vec::new();
        let mut last_error = None;
        for (item, outcome) in self.left.iter().zip(outcomes) {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Refused(error) => {
                    self.refused.push(RefusedItem { item: *item, error });
                }
                ItemOutcome::Unacknowledged(error) => {
                    unacknowledged.push(*item);
                    last_error = Some(error);
                }
            }
        }
        let is_progress = unacknowledged.len() < self.left.len();
        self.left = unacknowledged;
        match last_error {
            Some(error) if !is_progress || deadline.remaining().is_zero() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Reads the signals of a message: a function has accepted them.
fn read_signals<'a>(deferred: &'a DeferredBatch<'_>) -> Result<Batch<'a>, MessageError> {
    let mut batch = Batch::default();
    for signal in &deferred.signals {
        let text = JsonText::parse(&signal.text).map_err(|_| MessageError::Unreadable)?;
        let signal = Signal::read_accepted(text.value(), signal.index)?;
        batch.signals.push(signal);
    }
    Ok(batch)
}
