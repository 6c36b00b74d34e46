//! The drain of a deferred batch, by the steps of [`store::batch_pipeline`]. If a signal is not stored, the
//! message stays in the queue.

use model::json::JsonText;
use model::signal::Signal;
use store::batch_context::BatchContext;
use store::batch_pipeline::{BatchRecord, WritePlan};
use store::error::UnstoredReason;
use store::overflow_messages::{DeferredBatch, DeferredSignal, MessageError};

use crate::drain_log::{self, DrainedMessage, DrainedSignals};
use crate::{DrainContext, DrainError, NO_PROGRESS_TIMEOUT, OverflowFunction};

impl OverflowFunction {
    /// Stores the signals and the rejected signals of a message.
    pub(crate) async fn drain_batch(
        &self,
        deferred: DeferredBatch<'_>,
        drain_context: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        let DrainContext { now, deadline, .. } = drain_context;
        let tables = self.batches.for_message(deferred.retention());
        let request_identifier = deferred.request_identifier()?;
        let signals = read_signals(&deferred.signals)?;
        let context = BatchContext {
            account_id: &deferred.account_id,
            key_id: &deferred.key_id,
            request_identifier: &request_identifier,
            first_received_at: deferred.received_at,
            request_id: drain_context.request_id,
        };
        let hashes = deferred.needs_record.then_some(&*deferred.hashes);
        let recorded = tables
            .record(context, hashes, now, deadline.at_most(NO_PROGRESS_TIMEOUT))
            .await
            .map_err(UnstoredReason::from)?;
        let rejected = deferred
            .rejected
            .into_iter()
            .map(|item| item.of_first_attempt(recorded.context, now))
            .collect();
        let plan = WritePlan::RejectedLast {
            deadline,
            no_progress_timeout: NO_PROGRESS_TIMEOUT,
        };
        let written = tables.write(&recorded, signals, rejected, plan).await;
        if let Some(reason) = written.unstored.reason() {
            return Err(DrainError::Unstored(reason));
        }
        if let Some(refusal) = written.rejected_refusals.into_iter().next() {
            return Err(DrainError::Refused(refusal));
        }
        drain_log::write_drained(
            drain_context,
            &DrainedMessage {
                account_id: &deferred.account_id,
                key_id: &deferred.key_id,
                deferred_request_at: deferred.received_at,
                first_received_at: recorded.context.first_received_at,
                request_identifier: Some(request_identifier.as_sent()),
                signals: Some(DrainedSignals {
                    accepted: written.signals.len(),
                    rejected: written.refused.len(),
                }),
                // The client was told that the signals were accepted, so they are stored all the same.
                is_conflict: recorded.record == BatchRecord::Conflict,
            },
        );
        Ok(())
    }
}

/// Reads the signals of a message: a function has accepted them.
fn read_signals<'a>(deferred: &'a [DeferredSignal<'_>]) -> Result<Vec<Signal<'a>>, MessageError> {
    let mut signals = Vec::with_capacity(deferred.len());
    for signal in deferred {
        let text = JsonText::parse(&signal.text).map_err(|_| MessageError::Unreadable)?;
        let signal = Signal::read_accepted(text.value(), signal.index)?;
        signals.push(signal);
    }
    Ok(signals)
}
