//! Storing a batch: the idempotency record, the valid signals and, for the operator, the rejected ones; what DynamoDB does not
//! acknowledge in time goes to the overflow queue (docs/api.md, When DynamoDB is unavailable).

use std::time::Duration;

use model::batch::Batch;
use model::deadline::Deadline;
use service::context::RequestContext;
use service::problem::Problem;
use service::success::StoredBatch;
use service::telemetry::request_log;
use store::batch_context::BatchContext;
use store::deadline::WRITE_TIMEOUT;
use store::error::StoreError;
use store::idempotency::{IdempotencyTable, Outcome};
use store::overflow::{DeferredBatch, OverflowQueue};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::{SignalsTable, UnstoredSignals};

/// [`WRITE_TIMEOUT`] where there is an overflow queue: throttling that lasts longer is left to the queue.
const WRITE_TIMEOUT_BEFORE_OVERFLOW: Duration = Duration::from_secs(2);

/// The part of the request's time that is reserved for the overflow queue.
const OVERFLOW_RESERVE: Duration = Duration::from_secs(3);

/// The part of the request's time that is reserved for an idempotency record after signals could not be stored.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// How long storing rejected signals may take, so that it does not cost the accepted ones their response.
const DEAD_LETTER_TIMEOUT: Duration = Duration::from_secs(2);

/// The tables of the function, and its queue if it has one.
#[derive(Debug)]
pub struct Storage {
    /// The idempotency records.
    pub idempotency: IdempotencyTable,
    /// The valid signals.
    pub signals: SignalsTable,
    /// The rejected signals.
    pub rejected: RejectedSignalsTable,
    /// The overflow queue.
    pub overflow: Option<OverflowQueue>,
}

/// A batch to store.
pub(crate) struct ReceivedBatch<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) body: &'a str,
    pub(crate) context: BatchContext<'a>,
    pub(crate) request: &'a RequestContext,
}

impl ReceivedBatch<'_> {
    /// Whether there is to be an idempotency record. Without a valid signal, a retry could store nothing twice.
    fn has_record(&self) -> bool {
        self.batch.request_identifier.is_some() && !self.batch.signals.is_empty()
    }
}

/// The idempotency record of a batch, and so the time of its signals.
enum Record {
    /// There is none, or this request wrote it.
    Own,
    /// An earlier attempt wrote it, and its time is that of the signals.
    Earlier,
    /// Its write may take effect later, or never. No signal may be written now: an attempt that comes later could write it
    /// under another time.
    Unknown(StoreError),
}

impl Storage {
    /// Stores or defers every valid signal. Signals that DynamoDB finds invalid become rejected ones.
    pub(crate) async fn store(&self, received: &mut ReceivedBatch<'_>) -> Result<StoredBatch, Problem> {
        let (patience, reserve) = match self.overflow {
            Some(_) => (WRITE_TIMEOUT_BEFORE_OVERFLOW, OVERFLOW_RESERVE),
            None => (WRITE_TIMEOUT, LATE_RECORD_TIMEOUT),
        };
        let deadline = received.request.deadline.minus(reserve).min(patience);
        let record = self.begin(received, deadline).await?;
        let ReceivedBatch { batch, context, request, .. } = &*received;
        let dead_letter_deadline = || request.deadline.min(DEAD_LETTER_TIMEOUT);
        let (stored, dead_letters) = tokio::join!(
            async {
                match &record {
                    Record::Own | Record::Earlier => self.signals.put(*context, &batch.signals, deadline).await,
                    Record::Unknown(error) => Err(UnstoredSignals::all(error.clone(), &batch.signals)),
                }
            },
            self.rejected.put(*context, &batch.rejected, dead_letter_deadline()),
        );
        let (invalid, deferred) = match stored {
            Ok(invalid) => (invalid, 0),
            Err(UnstoredSignals { error, invalid, unacknowledged }) => {
                if !self.defer(received, &unacknowledged).await {
                    request_log::dead_letters(request, &dead_letters);
                    return Err(self.unavailable(received, error, &record).await);
                }
                (invalid, unacknowledged.len())
            }
        };
        let (context, deadline) = (*context, dead_letter_deadline());
        let refused = received.batch.refused_by_store(&invalid);
        let also_refused = self.rejected.put(context, &refused, deadline).await;
        request_log::dead_letters(received.request, &dead_letters.and(also_refused));
        Ok(StoredBatch { replayed: matches!(record, Record::Earlier), deferred })
    }

    /// Writes the idempotency record, if there is to be one, and gives the signals of a retry the time of the record.
    async fn begin(&self, received: &mut ReceivedBatch<'_>, deadline: Deadline) -> Result<Record, Problem> {
        if !received.has_record() {
            return Ok(Record::Own);
        }
        match self.idempotency.begin(received.context, received.body, &received.batch, deadline).await {
            Ok(Outcome::New) => Ok(Record::Own),
            Ok(Outcome::Replay { received_at }) => {
                received.context.received_at = received_at;
                Ok(Record::Earlier)
            }
            Ok(Outcome::Conflict) => Err(Problem::RequestIdentifierReused),
            Err(error @ StoreError::Unavailable(_)) if self.overflow.is_some() => Ok(Record::Unknown(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Queues the signals with these indices. Returns whether the queue acknowledged them.
    async fn defer(&self, received: &ReceivedBatch<'_>, unacknowledged: &[usize]) -> bool {
        let ReceivedBatch { batch, body, context, request } = received;
        let Some(overflow) = &self.overflow else { return false };
        let expires_at = self.signals.expires_at(context.received_at);
        let is_deferred = |index| unacknowledged.binary_search(&index).is_ok();
        let messages = DeferredBatch::messages(batch, body, *context, expires_at, is_deferred);
        let sent = overflow.send(messages, request.deadline.minus(LATE_RECORD_TIMEOUT)).await;
        if let Err(error) = &sent {
            tracing::error!(%error, requestId = request.invocation_id, "the overflow queue did not take signals");
        }
        sent.is_ok()
    }

    /// The problem when signals are neither stored nor queued. A request without a requestIdentifier gets one to retry with,
    /// if its record can be written after all.
    async fn unavailable(&self, received: &ReceivedBatch<'_>, error: StoreError, record: &Record) -> Problem {
        let ReceivedBatch { batch, body, context, .. } = received;
        let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
        let can_retry = match record {
            Record::Unknown(_) => false,
            Record::Own | Record::Earlier if received.has_record() => true,
            _ => self.idempotency.record_after_failure(*context, body, batch, deadline).await,
        };
        let retry_identifier = can_retry.then(|| context.request_identifier.clone());
        Problem::StorageUnavailable { error, retry_identifier }
    }
}
