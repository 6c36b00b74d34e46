//! The steps of storing a batch: the idempotency record, the valid signals and, for the operator,
//! the rejected ones; what DynamoDB does not acknowledge in time goes to the overflow queue
//! (docs/api.md, When DynamoDB is unavailable).

use std::collections::HashSet;
use std::time::Duration;

use aws::deadline::Deadline;
use aws::queue::Queue;
use model::batch::Batch;
use model::signal::{RejectedSignal, Signal};
use service::context::RequestContext;
use service::problem::Problem;
use service::success::StoredBatch;
use service::telemetry::request_log;
use store::batch_context::BatchContext;
use store::error::{StoreError, UnstoredSignals};
use store::idempotency::{IdempotencyTable, Outcome, RequestHashes};
use store::overflow::DeferredBatch;
use store::rejected_signals::{RejectedSignalItem, RejectedSignalsTable};
use store::signals::SignalsTable;
use store::time_limit::TimeLimit;

/// The part of the request's time that is reserved for an idempotency record after signals could
/// not be stored.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// How long storing rejected signals may take, so that it does not cost the accepted ones their
/// response.
const REJECTED_TIMEOUT: Duration = Duration::from_secs(2);

/// The tables of the function, and its queue if it has one.
#[derive(Debug)]
pub struct Storage {
    /// What makes retries safe.
    pub idempotency: IdempotencyTable,
    /// Where valid signals go.
    pub signals: SignalsTable,
    /// Where rejected signals are kept for the operator.
    pub rejected: RejectedSignalsTable,
    /// Where signals go that DynamoDB does not acknowledge in time.
    pub overflow: Option<Queue>,
}

/// A batch, its hashes, and the request that it came with.
pub(crate) struct ReceivedBatch<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) hashes: RequestHashes,
    pub(crate) batch_context: BatchContext<'a>,
    pub(crate) request_context: &'a RequestContext,
}

/// What is known of the idempotency record of a batch, and so of the time of its signals.
enum Idempotency {
    /// There is to be no record: the client named no requestIdentifier, or no signal is valid, so
    /// that a retry stores nothing twice.
    NotNeeded,
    /// This request wrote it, so its signals are new.
    New,
    /// An earlier attempt wrote it, and its time is that of the signals.
    Earlier,
    /// Its write may take effect later, or never. No signal may be written now: an attempt that
    /// comes later could write it under another time.
    Unknown(StoreError),
}

/// What DynamoDB did not store of a batch.
struct Unstored {
    signals: Option<UnstoredSignals>,
    /// Rejected signals, and those that DynamoDB found invalid.
    rejected: Vec<UnstoredSignals>,
}

impl Storage {
    /// Stores or defers every valid signal. Signals that DynamoDB finds invalid become rejected
    /// ones.
    pub(crate) async fn store(
        &self,
        received: &mut ReceivedBatch<'_>,
    ) -> Result<StoredBatch, Problem> {
        let limit =
            TimeLimit::of_writes(time_before_late_record(received), self.overflow.is_some());
        let record = self.begin(received, limit).await?;
        let Unstored { signals, rejected } = self.write(received, &record, limit).await;
        let replayed = matches!(record, Idempotency::Earlier);
        let Some(UnstoredSignals {
            error,
            unacknowledged,
            ..
        }) = signals
        else {
            report(received, &rejected);
            return Ok(StoredBatch {
                replayed,
                deferred: 0,
            });
        };
        if self.defer(received, &unacknowledged, &rejected).await {
            report(
                received,
                rejected
                    .iter()
                    .filter(|unstored| !unstored.invalid.is_empty()),
            );
            return Ok(StoredBatch {
                replayed,
                deferred: unacknowledged.len(),
            });
        }
        report(received, &rejected);
        Err(self.unavailable(received, error, &record).await)
    }

    /// Writes the idempotency record, if there is to be one, and gives the signals of a retry the
    /// time of the record.
    async fn begin(
        &self,
        received: &mut ReceivedBatch<'_>,
        limit: TimeLimit,
    ) -> Result<Idempotency, Problem> {
        let ReceivedBatch {
            batch,
            hashes,
            batch_context,
            ..
        } = received;
        if batch.request_identifier.is_none() || batch.signals.is_empty() {
            return Ok(Idempotency::NotNeeded);
        }
        match self
            .idempotency
            .begin(*batch_context, hashes, batch_context.received_at, limit)
            .await
        {
            Ok(Outcome::New) => Ok(Idempotency::New),
            Ok(Outcome::Replay { received_at }) => {
                batch_context.received_at = received_at;
                Ok(Idempotency::Earlier)
            }
            Ok(Outcome::Conflict) => Err(Problem::RequestIdentifierReused),
            Err(error @ StoreError::Unavailable(_)) if self.overflow.is_some() => {
                Ok(Idempotency::Unknown(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the valid signals, unless the record forbids it, and the rejected ones.
    async fn write(
        &self,
        received: &mut ReceivedBatch<'_>,
        record: &Idempotency,
        limit: TimeLimit,
    ) -> Unstored {
        let ReceivedBatch {
            batch,
            batch_context,
            ..
        } = &*received;
        let valid = async {
            match record {
                Idempotency::NotNeeded | Idempotency::New | Idempotency::Earlier => {
                    self.signals
                        .store(*batch_context, &batch.signals, limit)
                        .await
                }
                Idempotency::Unknown(error) => {
                    let unacknowledged = batch.signals.iter().map(Signal::index).collect();
                    Err(UnstoredSignals {
                        error: error.clone(),
                        invalid: Vec::new(),
                        unacknowledged,
                    })
                }
            }
        };
        let (valid, rejected) =
            tokio::join!(valid, self.store_rejected(received, &batch.rejected, limit));
        let (invalid, signals) = match valid {
            Ok(invalid) => (invalid, None),
            Err(mut unstored) => (std::mem::take(&mut unstored.invalid), Some(unstored)),
        };
        let refused = received.batch.reject(&invalid);
        let refused = self.store_rejected(received, &refused, limit).await;
        Unstored {
            signals,
            rejected: [rejected, refused]
                .into_iter()
                .filter_map(Result::err)
                .collect(),
        }
    }

    /// Stores rejected signals for the operator.
    async fn store_rejected(
        &self,
        received: &ReceivedBatch<'_>,
        rejected: &[RejectedSignal<'_>],
        limit: TimeLimit,
    ) -> Result<(), UnstoredSignals> {
        let ReceivedBatch {
            batch_context,
            request_context,
            ..
        } = received;
        let item =
            |signal| RejectedSignalItem::new(*batch_context, signal, request_context.received_at);
        let items: Vec<_> = rejected.iter().map(item).collect();
        self.rejected
            .store(&items, limit.at_most(REJECTED_TIMEOUT))
            .await
    }

    /// Queues the signals with these indices, and the rejected ones that are not stored. Returns
    /// whether the queue acknowledged them.
    async fn defer(
        &self,
        received: &ReceivedBatch<'_>,
        signals: &[usize],
        rejected: &[UnstoredSignals],
    ) -> bool {
        let ReceivedBatch {
            batch,
            hashes,
            batch_context,
            ..
        } = received;
        let Some(overflow) = &self.overflow else {
            return false;
        };
        let rejected = rejected
            .iter()
            .flat_map(|unstored| &unstored.unacknowledged);
        let deferred: HashSet<_> = signals.iter().chain(rejected).collect();
        let expires_at = self.signals.expires_at(batch_context.received_at);
        let messages =
            DeferredBatch::messages(batch, hashes, *batch_context, expires_at, |index| {
                deferred.contains(&index)
            });
        overflow
            .take(
                messages,
                batch_context.account_id,
                time_before_late_record(received),
            )
            .await
    }

    /// The problem when signals are neither stored nor queued. A request without a
    /// requestIdentifier gets one to retry with, if its record can be written after all.
    async fn unavailable(
        &self,
        received: &ReceivedBatch<'_>,
        error: StoreError,
        record: &Idempotency,
    ) -> Problem {
        let ReceivedBatch {
            hashes,
            batch_context,
            ..
        } = received;
        let can_retry = match record {
            Idempotency::Unknown(_) => false,
            Idempotency::New | Idempotency::Earlier => true,
            Idempotency::NotNeeded => {
                let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
                self.idempotency
                    .record_after_failure(*batch_context, hashes, deadline)
                    .await
            }
        };
        let retry_identifier = can_retry.then(|| batch_context.request_identifier.clone());
        Problem::StorageUnavailable {
            error,
            retry_identifier,
        }
    }
}

/// When everything but a late idempotency record must have ended.
fn time_before_late_record(received: &ReceivedBatch<'_>) -> Deadline {
    received.request_context.deadline.minus(LATE_RECORD_TIMEOUT)
}

/// Tells the operator of rejected signals that are stored nowhere.
fn report<'a>(
    received: &ReceivedBatch<'_>,
    rejected: impl IntoIterator<Item = &'a UnstoredSignals>,
) {
    for unstored in rejected {
        request_log::rejected_not_stored(received.request_context, &unstored.error);
    }
}
