//! Storing a batch: the idempotency record, the valid signals and, for the operator, the rejected ones; what DynamoDB does not
//! acknowledge in time goes to the overflow queue (docs/api.md, When DynamoDB is unavailable).

use std::collections::HashSet;
use std::time::Duration;

use model::batch::Batch;
use model::deadline::Deadline;
use model::signal::RejectedSignal;
use service::context::RequestContext;
use service::problem::Problem;
use service::success::StoredBatch;
use service::telemetry::request_log;
use store::batch_context::BatchContext;
use store::deadline::WRITE_TIMEOUT;
use store::error::{StoreError, UnstoredSignals};
use store::idempotency::{IdempotencyTable, Outcome};
use store::overflow::{DeferredBatch, OverflowQueue};
use store::patience::{Patience, PatienceEnds};
use store::rejected_signals::{RejectedSignalRecord, RejectedSignalsTable};
use store::signals::SignalsTable;

/// [`WRITE_TIMEOUT`] where there is an overflow queue: what lasts longer is left to the queue.
const WRITE_TIMEOUT_BEFORE_OVERFLOW: Duration = Duration::from_secs(2);

/// The part of the request's time that is reserved for the overflow queue.
const OVERFLOW_RESERVE: Duration = Duration::from_secs(3);

/// The part of the request's time that is reserved for an idempotency record after signals could not be stored.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// How long storing rejected signals may take, so that it does not cost the accepted ones their response.
const REJECTED_TIMEOUT: Duration = Duration::from_secs(2);

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
    pub(crate) batch_context: BatchContext<'a>,
    pub(crate) request_context: &'a RequestContext,
}

/// The idempotency record of a batch, and so the time of its signals.
enum Record {
    /// There is none: the client named no requestIdentifier, or no signal is valid, so that a retry stores nothing twice.
    NotNeeded,
    /// This request wrote it.
    New,
    /// An earlier attempt wrote it, and its time is that of the signals.
    Earlier,
    /// Its write may take effect later, or never. No signal may be written now: an attempt that comes later could write it
    /// under another time.
    Unknown(StoreError),
}

/// What DynamoDB did not store of a batch.
struct Unstored {
    /// Valid signals.
    signals: Option<UnstoredSignals>,
    /// Rejected signals, and those that DynamoDB found invalid.
    rejected: Vec<UnstoredSignals>,
}

impl Storage {
    /// Stores or defers every valid signal. Signals that DynamoDB finds invalid become rejected ones.
    pub(crate) async fn store(&self, received: &mut ReceivedBatch<'_>) -> Result<StoredBatch, Problem> {
        let timeout = if self.overflow.is_some() { WRITE_TIMEOUT_BEFORE_OVERFLOW } else { WRITE_TIMEOUT };
        let patience = self.patience(received, timeout);
        let record = self.begin(received, patience).await?;
        let Unstored { signals, rejected } = self.write(received, &record, patience).await;
        let replayed = matches!(record, Record::Earlier);
        let Some(UnstoredSignals { error, unacknowledged, .. }) = signals else {
            report(received, &rejected);
            return Ok(StoredBatch { replayed, deferred: 0 });
        };
        if self.defer(received, &unacknowledged, &rejected).await {
            report(received, rejected.iter().filter(|unstored| !unstored.invalid.is_empty()));
            return Ok(StoredBatch { replayed, deferred: unacknowledged.len() });
        }
        report(received, &rejected);
        Err(self.unavailable(received, error, &record).await)
    }

    /// How long writes may take: at most `timeout`, and so that time is left for what follows when they fail.
    fn patience(&self, received: &ReceivedBatch<'_>, timeout: Duration) -> Patience {
        let (reserve, ends) = match self.overflow {
            Some(_) => (OVERFLOW_RESERVE, PatienceEnds::WhenUnanswered),
            None => (LATE_RECORD_TIMEOUT, PatienceEnds::WhenThrottled),
        };
        Patience { deadline: received.request_context.deadline.minus(reserve).at_most(timeout), ends }
    }

    /// Writes the idempotency record, if there is to be one, and gives the signals of a retry the time of the record.
    async fn begin(&self, received: &mut ReceivedBatch<'_>, patience: Patience) -> Result<Record, Problem> {
        let ReceivedBatch { batch, body, batch_context, .. } = received;
        if batch.request_identifier.is_none() || batch.signals.is_empty() {
            return Ok(Record::NotNeeded);
        }
        match self.idempotency.begin(*batch_context, body, batch, patience).await {
            Ok(Outcome::New) => Ok(Record::New),
            Ok(Outcome::Replay { received_at }) => {
                batch_context.received_at = received_at;
                Ok(Record::Earlier)
            }
            Ok(Outcome::Conflict) => Err(Problem::RequestIdentifierReused),
            Err(error @ StoreError::Unavailable(_)) if self.overflow.is_some() => Ok(Record::Unknown(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the valid signals, unless the record forbids it, and the rejected ones.
    async fn write(&self, received: &mut ReceivedBatch<'_>, record: &Record, patience: Patience) -> Unstored {
        let ReceivedBatch { batch, batch_context, .. } = &*received;
        let valid = async {
            match record {
                Record::NotNeeded | Record::New | Record::Earlier => {
                    self.signals.put(*batch_context, &batch.signals, patience).await
                }
                Record::Unknown(error) => Err(UnstoredSignals::all(error.clone(), &batch.signals)),
            }
        };
        let (valid, rejected) = tokio::join!(valid, self.keep(received, &batch.rejected));
        let (invalid, signals) = match valid {
            Ok(invalid) => (invalid, None),
            Err(mut unstored) => (std::mem::take(&mut unstored.invalid), Some(unstored)),
        };
        let refused = received.batch.reject(&invalid);
        let refused = self.keep(received, &refused).await;
        Unstored { signals, rejected: [rejected, refused].into_iter().filter_map(Result::err).collect() }
    }

    /// Stores rejected signals for the operator.
    async fn keep(&self, received: &ReceivedBatch<'_>, rejected: &[RejectedSignal<'_>]) -> Result<(), UnstoredSignals> {
        let ReceivedBatch { batch_context, request_context, .. } = received;
        let record = |signal| RejectedSignalRecord::new(*batch_context, signal, request_context.received_at);
        let records: Vec<_> = rejected.iter().map(record).collect();
        self.rejected.put(&records, self.patience(received, REJECTED_TIMEOUT)).await
    }

    /// Queues the signals with these indices, and the rejected ones that are not stored. Returns whether the queue
    /// acknowledged them.
    async fn defer(&self, received: &ReceivedBatch<'_>, signals: &[usize], rejected: &[UnstoredSignals]) -> bool {
        let ReceivedBatch { batch, body, batch_context, request_context } = received;
        let Some(overflow) = &self.overflow else { return false };
        let rejected = rejected.iter().flat_map(|unstored| &unstored.unacknowledged);
        let deferred: HashSet<_> = signals.iter().chain(rejected).collect();
        let expires_at = self.signals.expires_at(batch_context.received_at);
        let messages =
            DeferredBatch::messages(batch, body, *batch_context, expires_at, |index| deferred.contains(&index));
        let deadline = request_context.deadline.minus(LATE_RECORD_TIMEOUT);
        let sent = overflow.send(messages, Some(batch_context.account_id), deadline).await;
        if let Err(error) = &sent {
            tracing::error!(%error, requestId = request_context.request_id, "the overflow queue did not take signals");
        }
        sent.is_ok()
    }

    /// The problem when signals are neither stored nor queued. A request without a requestIdentifier gets one to retry with,
    /// if its record can be written after all.
    async fn unavailable(&self, received: &ReceivedBatch<'_>, error: StoreError, record: &Record) -> Problem {
        let ReceivedBatch { batch, body, batch_context, .. } = received;
        let can_retry = match record {
            Record::Unknown(_) => false,
            Record::New | Record::Earlier => true,
            Record::NotNeeded => {
                let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
                self.idempotency.record_after_failure(*batch_context, body, batch, deadline).await
            }
        };
        let retry_identifier = can_retry.then(|| batch_context.request_identifier.clone());
        Problem::StorageUnavailable { error, retry_identifier }
    }
}

/// Tells the operator of rejected signals that are stored nowhere.
fn report<'a>(received: &ReceivedBatch<'_>, rejected: impl IntoIterator<Item = &'a UnstoredSignals>) {
    for unstored in rejected {
        request_log::rejected_not_stored(received.request_context, &unstored.error);
    }
}
