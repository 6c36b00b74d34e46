//! How the signals of a request are stored: by the steps of [`store::batch_pipeline`]. Unstored signals go to the
//! overflow queue (docs/api.md, When DynamoDB is unavailable).

use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::signal::RejectedSignal;
use service::budget::RequestBudget;
use service::context::RequestContext;
use service::problem::Problem;
use store::batch_context::BatchContext;
use store::batch_pipeline::{BatchRecord, RecordedBatch, UnstoredSignals, WritePlan};
use store::error::UnstoredReason;
use store::idempotency::RequestHashes;
use store::overflow_messages;
use store::rejected_signals::RejectedSignalItem;

use crate::{SignalsFunction, rejected_log, signals_problems};

/// The request that a batch came with.
#[derive(Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    pub(crate) hashes: &'a RequestHashes,
    /// The client's requestIdentifier, or the generated one.
    pub(crate) request_identifier: &'a RequestIdentifier,
    pub(crate) key: &'a KeyEntry,
    pub(crate) request_context: &'a RequestContext,
}

impl<'a> BatchRequest<'a> {
    /// What all items of the batch have in common, if this attempt of the request is the first one.
    fn context(&self) -> BatchContext<'a> {
        BatchContext {
            account_id: &self.key.account_id,
            key_id: &self.key.key_id,
            request_identifier: self.request_identifier,
            first_received_at: self.request_context.received_at,
            request_id: &self.request_context.request_id,
        }
    }

    /// The budget of all steps but the late idempotency record.
    fn budget_before_late_record(&self) -> RequestBudget {
        self.request_context.budget.before_late_record()
    }
}

/// How a batch was stored.
#[derive(Debug)]
pub(crate) struct StoredBatch<'a> {
    /// The batch, in which the signals that DynamoDB refused are rejected ones.
    pub(crate) batch: Batch<'a>,
    /// Whether the same request was received before.
    pub(crate) replayed: bool,
    /// The indices of the signals that are queued instead.
    pub(crate) deferred: Vec<usize>,
    /// Why signals or rejected signals are queued, or valid signals were refused; `None` if all are stored.
    pub(crate) unstored_reason: Option<UnstoredReason>,
}

/// The outcome of unstored signals.
struct Deferral {
    /// The indices of the valid signals that are queued.
    signals: Vec<usize>,
    /// Why they, or rejected signals, are queued.
    reason: Option<UnstoredReason>,
}

impl SignalsFunction {
    /// Stores or defers the valid and the rejected signals of a batch.
    pub(crate) async fn store<'a>(
        &self,
        batch: Batch<'a>,
        request: BatchRequest<'_>,
    ) -> Result<StoredBatch<'a>, Problem> {
        let now = request.request_context.received_at;
        let deadline = request.budget_before_late_record().writes();
        let hashes = batch.needs_record().then_some(request.hashes);
        let recorded = self
            .tables
            .record(request.context(), hashes, now, deadline)
            .await?;
        if recorded.record == BatchRecord::Conflict {
            return Err(signals_problems::request_identifier_reused());
        }
        let Batch {
            request_identifier,
            signals,
            rejected,
            warnings,
        } = batch;
        let items = rejected
            .iter()
            .map(|signal| RejectedSignalItem::new(recorded.context, signal, now))
            .collect();
        let plan = WritePlan::AtOnce { deadline };
        let written = self.tables.write(&recorded, signals, items, plan).await;
        for error in &written.rejected_refusals {
            rejected_log::write_not_stored(request.request_context, &error.to_string());
        }
        let batch = Batch {
            request_identifier,
            signals: written.signals,
            rejected: in_order_of_request(rejected, written.refused),
            warnings,
        };
        let deferral = self
            .defer(&batch, written.unstored, &recorded, request)
            .await?;
        Ok(StoredBatch {
            batch,
            replayed: matches!(recorded.record, BatchRecord::Earlier(_)),
            deferred: deferral.signals,
            unstored_reason: UnstoredReason::most_telling(
                deferral.reason.iter().chain(&written.refusal),
            ),
        })
    }

    /// Queues the unstored signals of a batch. If the queue does not accept them, the request fails because of the
    /// valid ones, and the rejected ones are lost, which the log says.
    async fn defer(
        &self,
        batch: &Batch<'_>,
        unstored: UnstoredSignals,
        recorded: &RecordedBatch<'_>,
        request: BatchRequest<'_>,
    ) -> Result<Deferral, Problem> {
        let nothing = Deferral {
            signals: Vec::new(),
            reason: None,
        };
        if unstored.is_empty() {
            return Ok(nothing);
        }
        let is_queued = self.queue(batch, &unstored, recorded, request).await;
        if is_queued {
            return Ok(Deferral {
                reason: unstored.reason(),
                signals: unstored.signals.into_keys().collect(),
            });
        }
        if let Some(reason) = unstored.rejected.values().next() {
            rejected_log::write_not_stored(request.request_context, &reason.to_string());
        }
        match UnstoredReason::most_telling(unstored.signals.values()) {
            Some(reason) => Err(self.unavailable(reason, recorded, request).await),
            None => Ok(nothing),
        }
    }

    /// Sends the unstored signals of a batch to the queue. Returns whether the queue acknowledged it.
    async fn queue(
        &self,
        batch: &Batch<'_>,
        unstored: &UnstoredSignals,
        recorded: &RecordedBatch<'_>,
        request: BatchRequest<'_>,
    ) -> bool {
        let context = recorded.context;
        let expires_at = self.tables.signals.expires_at(context.first_received_at);
        let messages =
            overflow_messages::batch_messages(batch, request.hashes, context, expires_at, unstored);
        let deadline = request.budget_before_late_record().queue();
        let sent = self
            .overflow_queue
            .send_all(messages, context.account_id, deadline)
            .await;
        if let Err(error) = &sent {
            tracing::error!(%error, "the overflow queue did not accept the signals of a batch");
        }
        sent.is_ok()
    }

    /// The problem when signals are neither stored nor queued. A request without a
    /// requestIdentifier gets one to retry with, if its record can be written after all.
    async fn unavailable(
        &self,
        reason: UnstoredReason,
        recorded: &RecordedBatch<'_>,
        request: BatchRequest<'_>,
    ) -> Problem {
        let context = recorded.context;
        let can_retry = match recorded.record {
            BatchRecord::Unknown(_) | BatchRecord::Conflict => false,
            BatchRecord::New | BatchRecord::Earlier(_) => true,
            BatchRecord::NotNeeded => {
                let deadline = request.request_context.budget.late_record();
                self.tables
                    .idempotency
                    .write_late_record(context, request.hashes, deadline)
                    .await
            }
        };
        Problem::StorageUnavailable {
            reason,
            retry_identifier: can_retry.then(|| context.request_identifier.clone()),
        }
    }
}

/// The rejected signals of a request, and those that DynamoDB refused, in the order in which they were sent.
fn in_order_of_request<'a>(
    mut rejected: Vec<RejectedSignal<'a>>,
    refused: Vec<RejectedSignal<'a>>,
) -> Vec<RejectedSignal<'a>> {
    rejected.extend(refused);
    rejected.sort_unstable_by_key(|signal| signal.index);
    rejected
}
