//! The steps of storing a batch: the idempotency record, the valid signals and, for the operator,
//! the rejected ones; what DynamoDB does not acknowledge in time goes to the overflow queue
//! (docs/api.md, When DynamoDB is unavailable).

use std::collections::BTreeMap;
use std::time::Duration;

use aws::deadline::Deadline;
use aws::queue::Queue;
use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::signal::{RejectedSignal, Signal};
use model::timestamp::Timestamp;
use service::context::RequestContext;
use service::problem::Problem;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::error::StoreError;
use store::idempotency::{IdempotencyTable, RecordOutcome, RequestHashes};
use store::overflow_messages;
use store::rejected_signals::{RejectedSignalItem, RejectedSignalsTable};
use store::retry::deadline_of_writes;
use store::signals::SignalsTable;

use crate::{log, problem};

/// The part of the request's time that is reserved for an idempotency record after signals could
/// not be stored.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// The tables of the function, and its queue.
#[derive(Debug)]
pub struct BatchStorage {
    /// The idempotency records, which make retries safe.
    pub idempotency: IdempotencyTable,
    /// Where valid signals go.
    pub signals: SignalsTable,
    /// Where rejected signals are kept for the operator.
    pub rejected: RejectedSignalsTable,
    /// Where signals go that DynamoDB does not acknowledge in time.
    pub overflow_queue: Queue,
}

/// A batch, its hashes, and the request that it came with.
pub(crate) struct ReceivedBatch<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) hashes: RequestHashes,
    /// The client's requestIdentifier, or the generated one.
    pub(crate) request_identifier: &'a RequestIdentifier,
    pub(crate) key: &'a KeyEntry,
    pub(crate) request_context: &'a RequestContext,
}

impl<'a> ReceivedBatch<'a> {
    /// When this attempt of the request was received.
    fn received_at(&self) -> Timestamp {
        self.request_context.received_at
    }

    /// What all items of the batch have in common, if the first attempt of the request was received
    /// at this time.
    fn context(&self, first_received_at: Timestamp) -> BatchContext<'a> {
        BatchContext {
            account_id: &self.key.account_id,
            key_id: &self.key.key_id,
            request_identifier: self.request_identifier,
            first_received_at,
            request_id: &self.request_context.request_id,
        }
    }
}

/// How a batch was stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredBatch {
    /// Whether the same request was received before.
    pub(crate) replayed: bool,
    /// The indices of the signals that are queued instead.
    pub(crate) deferred: Vec<usize>,
    /// Why signals or rejected signals are queued, or valid signals were refused; `None` if all are stored.
    pub(crate) store_error: Option<StoreError>,
}

/// What is known of the idempotency record of a batch.
enum RecordState {
    /// The batch needs no record: see [`Batch::needs_record`].
    NotNeeded,
    /// This request wrote it, so its signals are new.
    New,
    /// An earlier attempt wrote it. This attempt uses the time of that one in the keys of the
    /// signals.
    Earlier(Timestamp),
    /// Its write may take effect later, or never. Nothing may be written now, because an earlier or
    /// a later attempt could write it under another time.
    Unknown(StoreError),
}

impl RecordState {
    /// When the first attempt of the request was received; this attempt was at `received_at`.
    fn first_received_at(&self, received_at: Timestamp) -> Timestamp {
        match self {
            Self::Earlier(first_received_at) => *first_received_at,
            Self::NotNeeded | Self::New | Self::Unknown(_) => received_at,
        }
    }

    fn is_of_earlier_attempt(&self) -> bool {
        matches!(self, Self::Earlier(_))
    }
}

/// What DynamoDB did not acknowledge of a batch, and why, by the indices of the signals.
struct Unacknowledged {
    signals: BTreeMap<usize, StoreError>,
    rejected: BTreeMap<usize, StoreError>,
}

impl Unacknowledged {
    /// Nothing of the batch is acknowledged.
    fn all_of(batch: &Batch<'_>, error: &StoreError) -> Self {
        let signals = batch.signals.iter().map(Signal::index);
        let rejected = batch.rejected.iter().map(|rejected| rejected.index);
        Self {
            signals: signals.map(|index| (index, error.clone())).collect(),
            rejected: rejected.map(|index| (index, error.clone())).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.signals.is_empty() && self.rejected.is_empty()
    }

    /// Adds the signals that DynamoDB did not acknowledge. Returns those that were refused for good.
    fn add(
        &mut self,
        signals: &[Signal<'_>],
        outcomes: Vec<ItemOutcome>,
    ) -> BTreeMap<usize, StoreError> {
        let mut refused = BTreeMap::new();
        for (signal, outcome) in signals.iter().zip(outcomes) {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Refused(error) => {
                    refused.insert(signal.index(), error);
                }
                ItemOutcome::Unacknowledged(error) => {
                    self.signals.insert(signal.index(), error);
                }
            }
        }
        refused
    }

    fn contains(&self, index: usize) -> bool {
        self.signals.contains_key(&index) || self.rejected.contains_key(&index)
    }
}

impl BatchStorage {
    /// Stores or defers the valid and the rejected signals. While the idempotency record is
    /// unknown, all are deferred: the drain will know the record. Signals that are refused become rejected
    /// ones.
    pub(crate) async fn store(
        &self,
        received: &mut ReceivedBatch<'_>,
    ) -> Result<StoredBatch, Problem> {
        let deadline = deadline_before_late_record(received);
        let write_deadline = deadline_of_writes(deadline);
        let record = self.write_record(received, write_deadline).await?;
        let context = received.context(record.first_received_at(received.received_at()));
        if let RecordState::Unknown(error) = &record {
            let unacknowledged = Unacknowledged::all_of(&received.batch, error);
            return self
                .defer_or_fail(received, context, &record, unacknowledged)
                .await;
        }
        let Batch {
            signals, rejected, ..
        } = &received.batch;
        let store_signals = self.signals.store(context, signals, write_deadline);
        let store_rejected = self.store_rejected(received, context, rejected, write_deadline);
        let (signal_outcomes, unacknowledged_rejected) =
            tokio::join!(store_signals, store_rejected);
        let mut unacknowledged = Unacknowledged {
            signals: BTreeMap::new(),
            rejected: unacknowledged_rejected,
        };
        let refused = unacknowledged.add(signals, signal_outcomes);
        let mut newly_unacknowledged = self
            .reject_refused(received, context, &refused, write_deadline)
            .await;
        unacknowledged.rejected.append(&mut newly_unacknowledged);
        let refusal = most_telling(refused.values());
        if unacknowledged.is_empty() {
            return Ok(StoredBatch {
                replayed: record.is_of_earlier_attempt(),
                store_error: refusal,
                ..StoredBatch::default()
            });
        }
        let mut stored = self
            .defer_or_fail(received, context, &record, unacknowledged)
            .await?;
        stored.store_error = most_telling(stored.store_error.iter().chain(&refusal));
        Ok(stored)
    }

    /// Rejects the signals with these indices, which were refused, and stores them as rejected ones.
    /// Returns those that DynamoDB did not acknowledge.
    async fn reject_refused(
        &self,
        received: &mut ReceivedBatch<'_>,
        context: BatchContext<'_>,
        refused: &BTreeMap<usize, StoreError>,
        deadline: Deadline,
    ) -> BTreeMap<usize, StoreError> {
        let indices: Vec<_> = refused.keys().copied().collect();
        let newly_rejected = received.batch.reject(&indices);
        self.store_rejected(received, context, &newly_rejected, deadline)
            .await
    }

    /// Queues what DynamoDB did not acknowledge. The batch fails if the queue does not take its
    /// signals. Rejected signals that the queue does not take are lost, which the log says.
    async fn defer_or_fail(
        &self,
        received: &ReceivedBatch<'_>,
        context: BatchContext<'_>,
        record: &RecordState,
        unacknowledged: Unacknowledged,
    ) -> Result<StoredBatch, Problem> {
        let is_queued = self.defer(received, context, &unacknowledged).await;
        let Unacknowledged { signals, rejected } = unacknowledged;
        let store_error = most_telling(signals.values().chain(rejected.values()));
        if is_queued {
            return Ok(StoredBatch {
                replayed: record.is_of_earlier_attempt(),
                deferred: signals.into_keys().collect(),
                store_error,
            });
        }
        if let Some(error) = rejected.values().next() {
            log::write_rejected_not_stored(received.request_context, error);
        }
        match most_telling(signals.values()) {
            Some(error) => Err(self.unavailable(received, context, error, record).await),
            None => Ok(StoredBatch {
                replayed: record.is_of_earlier_attempt(),
                ..StoredBatch::default()
            }),
        }
    }

    /// Writes the idempotency record, if the batch needs one.
    async fn write_record(
        &self,
        received: &ReceivedBatch<'_>,
        deadline: Deadline,
    ) -> Result<RecordState, Problem> {
        let ReceivedBatch { batch, hashes, .. } = received;
        if !batch.needs_record() {
            return Ok(RecordState::NotNeeded);
        }
        let now = received.received_at();
        let written = self
            .idempotency
            .write_record(received.context(now), hashes, now, deadline)
            .await;
        match written {
            Ok(RecordOutcome::New) => Ok(RecordState::New),
            Ok(RecordOutcome::Replay { received_at }) => Ok(RecordState::Earlier(received_at)),
            Ok(RecordOutcome::Conflict) => Err(problem::request_identifier_reused()),
            Err(error @ StoreError::Unavailable(_)) => Ok(RecordState::Unknown(error)),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores rejected signals for the operator. Returns those that DynamoDB did not acknowledge,
    /// and logs an error if it refused any, since those are stored nowhere.
    async fn store_rejected(
        &self,
        received: &ReceivedBatch<'_>,
        context: BatchContext<'_>,
        rejected: &[RejectedSignal<'_>],
        deadline: Deadline,
    ) -> BTreeMap<usize, StoreError> {
        let now = received.received_at();
        let items: Vec<_> = rejected
            .iter()
            .map(|signal| RejectedSignalItem::new(context, signal, now))
            .collect();
        let outcomes = self.rejected.store(&items, deadline).await;
        let mut unacknowledged = BTreeMap::new();
        let mut refusal = None;
        for (item, outcome) in items.iter().zip(outcomes) {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Refused(error) => refusal = Some(error),
                ItemOutcome::Unacknowledged(error) => {
                    unacknowledged.insert(item.index, error);
                }
            }
        }
        if let Some(error) = refusal {
            log::write_rejected_not_stored(received.request_context, &error);
        }
        unacknowledged
    }

    /// Queues what DynamoDB did not acknowledge. Returns whether the queue acknowledged it.
    async fn defer(
        &self,
        received: &ReceivedBatch<'_>,
        context: BatchContext<'_>,
        unacknowledged: &Unacknowledged,
    ) -> bool {
        let expires_at = self.signals.expires_at(context.first_received_at);
        let messages = overflow_messages::batch_messages(
            &received.batch,
            &received.hashes,
            context,
            expires_at,
            |index| unacknowledged.contains(index),
        );
        let deadline = deadline_before_late_record(received);
        let sent = self
            .overflow_queue
            .send_all(messages, context.account_id, deadline)
            .await;
        if let Err(error) = &sent {
            tracing::error!(%error, "the overflow queue did not take the signals of a batch");
        }
        sent.is_ok()
    }

    /// The problem when signals are neither stored nor queued. A request without a
    /// requestIdentifier gets one to retry with, if its record can be written after all.
    async fn unavailable(
        &self,
        received: &ReceivedBatch<'_>,
        context: BatchContext<'_>,
        error: StoreError,
        record: &RecordState,
    ) -> Problem {
        let can_retry = match record {
            RecordState::Unknown(_) => false,
            RecordState::New | RecordState::Earlier(_) => true,
            RecordState::NotNeeded => {
                let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
                self.idempotency
                    .write_late_record(context, &received.hashes, deadline)
                    .await
            }
        };
        Problem::StorageUnavailable {
            error,
            retry_identifier: can_retry.then(|| context.request_identifier.clone()),
        }
    }
}

/// The error of several that says most to the operator: the first one after which the process must end or,
/// without one, the first one that says what is wrong with this service, or the first one of all.
fn most_telling<'e>(errors: impl Iterator<Item = &'e StoreError>) -> Option<StoreError> {
    let rank = |error: &&StoreError| {
        if error.are_credentials_refused() {
            0
        } else if error.own_fault().is_some() {
            1
        } else {
            2
        }
    };
    errors.min_by_key(rank).cloned()
}

/// When everything but a late idempotency record must have ended.
fn deadline_before_late_record(received: &ReceivedBatch<'_>) -> Deadline {
    received.request_context.deadline.minus(LATE_RECORD_TIMEOUT)
}
