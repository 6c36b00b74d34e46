//! The drain of a deferred batch: its idempotency record, its signals, and its rejected signals.

use aws::deadline::Deadline;
use model::batch::Batch;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::error::StoreError;
use store::idempotency::RecordOutcome;
use store::overflow::{DeferredBatch, MessageError};
use store::rejected_signals::{self, RejectedSignalItem};
use store::retry::PATIENCE;
use store::signals::SignalsTable;

use crate::log::{self, Drained, DrainedSignals};
use crate::{DrainContext, DrainError, OverflowFunction};

impl OverflowFunction {
    pub(crate) async fn drain_batch(
        &self,
        mut deferred: DeferredBatch<'_>,
        drain: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        let rejected_by_request = std::mem::take(&mut deferred.rejected);
        let request_identifier = deferred.request_identifier()?;
        let mut context = BatchContext {
            account_id: &deferred.account_id,
            key_id: &deferred.key_id,
            request_identifier: &request_identifier,
            received_at: deferred.received_at,
            request_id: drain.request_id,
        };
        let mut is_conflict = false;
        if deferred.needs_record {
            let deadline = drain.deadline.at_most(PATIENCE);
            let record = self
                .idempotency
                .begin(context, &deferred.hashes, drain.now, deadline)
                .await?;
            match record {
                RecordOutcome::New => {}
                // An attempt came first, and its items have its time.
                RecordOutcome::Replay { received_at } => context.received_at = received_at,
                // The signals were acknowledged, so they are stored all the same.
                RecordOutcome::Conflict => is_conflict = true,
            }
        }
        let mut batch = parse_again(&deferred)?;
        let table = self.signals.with_own_call_limit(deferred.retention());
        let invalid = store_all(&table, context, &batch.signals, drain.deadline).await?;
        batch.reject(&invalid);
        self.store_rejected(&batch, rejected_by_request, context, drain)
            .await?;
        let signals = DrainedSignals {
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
        };
        log::write_drained(
            drain,
            &Drained {
                account_id: &deferred.account_id,
                key_id: &deferred.key_id,
                received_at: context.received_at,
                request_identifier: Some(request_identifier.as_sent()),
                signals: Some(signals),
                is_conflict,
            },
        );
        Ok(())
    }

    /// Stores the signals that the drain rejected, and those that the request had rejected.
    async fn store_rejected(
        &self,
        batch: &Batch<'_>,
        rejected_by_request: Vec<RejectedSignalItem<'_>>,
        context: BatchContext<'_>,
        drain: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        let mut rejected: Vec<_> = batch
            .rejected
            .iter()
            .map(|signal| RejectedSignalItem::new(context, signal, drain.now))
            .collect();
        let expires_at = drain.now.plus(rejected_signals::RETENTION).seconds();
        for item in rejected_by_request {
            rejected.push(RejectedSignalItem { expires_at, ..item });
        }
        let table = self.rejected.with_own_call_limit();
        let deadline = drain.deadline.at_most(PATIENCE);
        for outcome in table.store(&rejected, deadline).await {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Invalid => return Err(StoreError::Invalid.into()),
                ItemOutcome::Unacknowledged(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Stores signals, and returns the indices of those that DynamoDB found invalid. A message of which
/// DynamoDB takes nothing is given up after [`PATIENCE`]. One of which it takes some goes on:
/// otherwise a table with little capacity would take a part of each message at each delivery, and
/// never all of a large one.
async fn store_all(
    table: &SignalsTable,
    context: BatchContext<'_>,
    signals: &[Signal<'_>],
    deadline: Deadline,
) -> Result<Vec<usize>, StoreError> {
    let mut left: Vec<&Signal<'_>> = signals.iter().collect();
    let mut invalid = Vec::new();
    loop {
        let attempted = left.iter().copied();
        let attempt_deadline = deadline.at_most(PATIENCE);
        let outcomes = table.store(context, attempted, attempt_deadline).await;
        let mut unacknowledged = Vec::new();
        let mut last_error = None;
        for (signal, outcome) in left.iter().zip(outcomes) {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Invalid => invalid.push(signal.index()),
                ItemOutcome::Unacknowledged(error) => {
                    unacknowledged.push(*signal);
                    last_error = Some(error);
                }
            }
        }
        let Some(error) = last_error else {
            return Ok(invalid);
        };
        let is_progress = unacknowledged.len() < left.len();
        if !is_progress || deadline.remaining().is_zero() {
            return Err(error);
        }
        left = unacknowledged;
    }
}

/// Reads the signals again. One that this version finds invalid becomes a rejected one.
fn parse_again<'a>(deferred: &'a DeferredBatch<'_>) -> Result<Batch<'a>, MessageError> {
    let path = JsonPointer::Member(&JsonPointer::Root, "signals");
    let mut batch = Batch::default();
    for signal in &deferred.signals {
        let text = JsonText::parse(&signal.text).map_err(|_| MessageError::Unreadable)?;
        let pointer = JsonPointer::Element(&path, signal.index);
        let parsed = Signal::parse(text.value(), signal.index, &pointer);
        batch.add(parsed);
    }
    Ok(batch)
}
