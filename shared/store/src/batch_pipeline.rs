//! How a batch of signals is stored: two steps, which a request and the drain of the overflow queue share.
//!
//! 1. [`BatchTables::record`] writes the idempotency record of the batch, or reads the one that exists. It
//!    returns a [`RecordedBatch`].
//! 2. [`BatchTables::write`] writes the signals, as a [`WritePlan`] says. It returns a [`WrittenBatch`], whose
//!    [`UnstoredSignals`] has what DynamoDB did not acknowledge, and why.
//!
//! The caller decides what becomes of a conflict and of unstored signals. This module must not know queues and
//! responses.

use std::collections::BTreeMap;
use std::time::Duration;

use aws::deadline::Deadline;
use aws::variables::{ConfigError, Variables};
use aws_sdk_dynamodb::Client;
use model::signal::{RejectedSignal, Signal};
use model::timestamp::Timestamp;

use crate::ItemOutcome;
use crate::batch_context::BatchContext;
use crate::error::{StoreError, UnstoredReason};
use crate::idempotency::{IdempotencyTable, RecordOutcome, RequestHashes};
use crate::rejected_signals::{RejectedSignalItem, RejectedSignalsTable};
use crate::signals::SignalsTable;

/// The tables that a batch is stored in.
#[derive(Clone, Debug)]
pub struct BatchTables {
    /// The idempotency records, which make retries safe.
    pub idempotency: IdempotencyTable,
    /// Where valid signals go.
    pub signals: SignalsTable,
    /// Where rejected signals are stored for the operator.
    pub rejected: RejectedSignalsTable,
}

/// A batch after the first step.
#[derive(Clone, Debug)]
pub struct RecordedBatch<'a> {
    /// What the items of the batch have in common. Their keys have the time of the first attempt.
    pub context: BatchContext<'a>,
    pub record: BatchRecord,
    /// When the items are written.
    now: Timestamp,
}

/// What is known of the idempotency record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchRecord {
    /// The batch needs no record.
    NotNeeded,
    /// This attempt wrote it, so the signals are new.
    New,
    /// An earlier attempt, received at this time, wrote it.
    Earlier(Timestamp),
    /// Another batch has the requestIdentifier.
    Conflict,
    /// Whether it was written is unknown. No signal may be written now: another attempt could write the
    /// record with another time, and store the signals a second time.
    Unknown(UnstoredReason),
}

/// In which order the signals of a batch are written, and until when.
#[derive(Clone, Copy, Debug)]
pub enum WritePlan {
    /// The valid and the rejected signals at the same time, until the deadline.
    AtOnce { deadline: Deadline },
    /// The rejected signals after the valid ones. The writes end at the deadline, or when DynamoDB
    /// acknowledges nothing for `no_progress_timeout`. They go on while it acknowledges some: otherwise a
    /// table with little capacity would store a part of a large batch at each attempt, and never all of it.
    RejectedLast {
        deadline: Deadline,
        no_progress_timeout: Duration,
    },
}

/// A batch after the second step.
#[derive(Clone, Debug)]
pub struct WrittenBatch<'a> {
    /// The valid signals that DynamoDB did not refuse. They are stored, except those in `unstored`.
    pub signals: Vec<Signal<'a>>,
    /// The valid signals that DynamoDB refused. They became rejected ones.
    pub refused: Vec<RejectedSignal<'a>>,
    /// Why DynamoDB refused valid signals.
    pub refusal: Option<UnstoredReason>,
    /// Why DynamoDB refused rejected signals, which are then stored nowhere: one error for each write.
    pub rejected_refusals: Vec<StoreError>,
    pub unstored: UnstoredSignals,
}

/// The signals of a batch that DynamoDB did not acknowledge, by their indices, and why. Each of them may be
/// stored or not.
#[derive(Clone, Debug, Default)]
pub struct UnstoredSignals {
    /// The valid signals.
    pub signals: BTreeMap<usize, UnstoredReason>,
    /// The rejected signals.
    pub rejected: BTreeMap<usize, UnstoredReason>,
}

/// What one write did not store, by the indices of the signals, and why.
#[derive(Default)]
struct WriteFailures {
    refused: BTreeMap<usize, StoreError>,
    unstored: BTreeMap<usize, UnstoredReason>,
}

impl BatchTables {
    /// The tables that the variables name. Signals expire `retention` after they were received, or never.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn from_variables(
        variables: &Variables,
        client: &Client,
        retention: Option<Duration>,
    ) -> Result<Self, ConfigError> {
        let idempotency = variables.required(IdempotencyTable::VARIABLE)?;
        let signals = variables.required(SignalsTable::VARIABLE)?;
        let rejected = variables.required(RejectedSignalsTable::VARIABLE)?;
        Ok(Self {
            idempotency: IdempotencyTable::new(client.clone(), idempotency),
            signals: SignalsTable::new(client.clone(), signals, retention),
            rejected: RejectedSignalsTable::new(client.clone(), rejected),
        })
    }

    /// The same tables for one message of the overflow queue, whose signals expire after `retention`, or
    /// never.
    #[must_use]
    pub fn for_message(&self, retention: Option<Duration>) -> Self {
        Self {
            idempotency: self.idempotency.clone(),
            signals: self.signals.with_own_call_limit(retention),
            rejected: self.rejected.with_own_call_limit(),
        }
    }

    /// The first step: writes the idempotency record of a batch with these hashes, or reads the one that
    /// exists. A batch without hashes needs none. Its items are written at `now`.
    ///
    /// # Errors
    /// When DynamoDB refused the call, or the stored record cannot be read.
    pub async fn record<'a>(
        &self,
        context: BatchContext<'a>,
        hashes: Option<&RequestHashes>,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<RecordedBatch<'a>, StoreError> {
        let record = match hashes {
            Some(hashes) => {
                self.find_or_write_record(context, hashes, now, deadline)
                    .await?
            }
            None => BatchRecord::NotNeeded,
        };
        Ok(RecordedBatch {
            context: BatchContext {
                first_received_at: record.first_received_at(context.first_received_at),
                ..context
            },
            record,
            now,
        })
    }

    async fn find_or_write_record(
        &self,
        context: BatchContext<'_>,
        hashes: &RequestHashes,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<BatchRecord, StoreError> {
        let written = self
            .idempotency
            .write_record(context, hashes, now, deadline)
            .await;
        match written {
            Ok(RecordOutcome::New) => Ok(BatchRecord::New),
            Ok(RecordOutcome::Replay { received_at }) => Ok(BatchRecord::Earlier(received_at)),
            Ok(RecordOutcome::Conflict) => Ok(BatchRecord::Conflict),
            Err(error @ StoreError::Unavailable(_)) => Ok(BatchRecord::Unknown(error.into())),
            Err(error) => Err(error),
        }
    }

    /// The second step: writes the valid and the rejected signals of a batch. Valid signals that DynamoDB
    /// refuses become rejected ones. If the record is unknown, nothing is written: all signals are unstored.
    pub async fn write<'a>(
        &self,
        recorded: &RecordedBatch<'_>,
        signals: Vec<Signal<'a>>,
        rejected: Vec<RejectedSignalItem<'_>>,
        plan: WritePlan,
    ) -> WrittenBatch<'a> {
        if let BatchRecord::Unknown(reason) = &recorded.record {
            let of_signals = WriteFailures::all(&signals, Signal::index, reason);
            let of_rejected = WriteFailures::all(&rejected, index_of_rejected, reason);
            return WrittenBatch::new(signals, of_signals).with_rejected(of_rejected);
        }
        match plan {
            WritePlan::AtOnce { .. } => {
                self.write_at_once(recorded, signals, &rejected, plan).await
            }
            WritePlan::RejectedLast { .. } => {
                self.write_rejected_last(recorded, signals, rejected, plan)
                    .await
            }
        }
    }

    async fn write_at_once<'a>(
        &self,
        recorded: &RecordedBatch<'_>,
        signals: Vec<Signal<'a>>,
        rejected: &[RejectedSignalItem<'_>],
        plan: WritePlan,
    ) -> WrittenBatch<'a> {
        let (of_signals, of_rejected) = tokio::join!(
            self.write_signals(recorded.context, &signals, plan),
            self.write_rejected(rejected, plan)
        );
        let written = WrittenBatch::new(signals, of_signals);
        let refused = recorded.rejected_items(&written.refused);
        let of_refused = self.write_rejected(&refused, plan).await;
        written.with_rejected(of_rejected).with_rejected(of_refused)
    }

    async fn write_rejected_last<'a>(
        &self,
        recorded: &RecordedBatch<'_>,
        signals: Vec<Signal<'a>>,
        rejected: Vec<RejectedSignalItem<'_>>,
        plan: WritePlan,
    ) -> WrittenBatch<'a> {
        let of_signals = self.write_signals(recorded.context, &signals, plan).await;
        let written = WrittenBatch::new(signals, of_signals);
        let mut items = recorded.rejected_items(&written.refused);
        items.extend(rejected);
        let of_rejected = match written.unstored.signals.values().next() {
            Some(reason) => WriteFailures::all(&items, index_of_rejected, reason),
            None => self.write_rejected(&items, plan).await,
        };
        written.with_rejected(of_rejected)
    }

    async fn write_signals(
        &self,
        context: BatchContext<'_>,
        signals: &[Signal<'_>],
        plan: WritePlan,
    ) -> WriteFailures {
        let store = |signals, deadline| self.signals.store(context, signals, deadline);
        write_in_rounds(signals, Signal::index, plan, store).await
    }

    async fn write_rejected(
        &self,
        items: &[RejectedSignalItem<'_>],
        plan: WritePlan,
    ) -> WriteFailures {
        let store = |items, deadline| self.rejected.store(items, deadline);
        write_in_rounds(items, index_of_rejected, plan, store).await
    }
}

/// Writes items with `store`. Writes those again that DynamoDB did not acknowledge, for as long as the plan
/// says.
async fn write_in_rounds<'i, I, F>(
    items: &'i [I],
    index_of: fn(&I) -> usize,
    plan: WritePlan,
    store: impl Fn(Vec<&'i I>, Deadline) -> F,
) -> WriteFailures
where
    F: Future<Output = Vec<ItemOutcome>>,
{
    let mut refused = BTreeMap::new();
    let mut left: Vec<_> = items.iter().collect();
    loop {
        let outcomes = store(left.clone(), plan.deadline_of_round()).await;
        let indices = left.iter().copied().map(index_of);
        let round = WriteFailures::new(indices, outcomes);
        let is_progress = round.unstored.len() < left.len();
        refused.extend(round.refused);
        if round.unstored.is_empty() || !plan.has_another_round(is_progress) {
            return WriteFailures {
                refused,
                unstored: round.unstored,
            };
        }
        left.retain(|item| round.unstored.contains_key(&index_of(item)));
    }
}

fn index_of_rejected(item: &RejectedSignalItem<'_>) -> usize {
    item.index
}

impl RecordedBatch<'_> {
    /// The items of signals that DynamoDB refused.
    fn rejected_items<'r>(
        &'r self,
        refused: &'r [RejectedSignal<'_>],
    ) -> Vec<RejectedSignalItem<'r>> {
        refused
            .iter()
            .map(|signal| RejectedSignalItem::new(self.context, signal, self.now))
            .collect()
    }
}

impl BatchRecord {
    /// When the first attempt of a request was received, if this attempt was received at `received_at`.
    fn first_received_at(&self, received_at: Timestamp) -> Timestamp {
        match self {
            Self::Earlier(first_received_at) => *first_received_at,
            Self::NotNeeded | Self::New | Self::Conflict | Self::Unknown(_) => received_at,
        }
    }
}

impl WritePlan {
    /// The deadline of a round that begins now.
    fn deadline_of_round(self) -> Deadline {
        match self {
            Self::AtOnce { deadline } => deadline,
            Self::RejectedLast {
                deadline,
                no_progress_timeout,
            } => deadline.at_most(no_progress_timeout),
        }
    }

    /// Whether unstored items are written again after a round.
    fn has_another_round(self, is_progress: bool) -> bool {
        match self {
            Self::AtOnce { .. } => false,
            Self::RejectedLast { deadline, .. } => is_progress && !deadline.remaining().is_zero(),
        }
    }
}

impl<'a> WrittenBatch<'a> {
    /// The outcome of the valid signals.
    fn new(mut signals: Vec<Signal<'a>>, failures: WriteFailures) -> Self {
        let is_refused = |signal: &mut Signal<'a>| failures.refused.contains_key(&signal.index());
        // In place: a second list of 500 signals would take memory while nothing is refused.
        let refused = signals.extract_if(.., is_refused);
        let refused = refused.map(Signal::into_refused).collect();
        let refusals = failures.refused.into_values().map(UnstoredReason::from);
        let refusals: Vec<_> = refusals.collect();
        Self {
            signals,
            refused,
            refusal: UnstoredReason::most_telling(&refusals),
            rejected_refusals: Vec::new(),
            unstored: UnstoredSignals {
                signals: failures.unstored,
                rejected: BTreeMap::new(),
            },
        }
    }

    /// Adds what became of rejected signals.
    fn with_rejected(mut self, failures: WriteFailures) -> Self {
        self.unstored.rejected.extend(failures.unstored);
        let refusals = failures.refused.into_values();
        self.rejected_refusals.extend(refusals.last());
        self
    }
}

impl WriteFailures {
    /// The outcome of the items of the signals with these indices.
    fn new(indices: impl Iterator<Item = usize>, outcomes: Vec<ItemOutcome>) -> Self {
        let mut failures = Self::default();
        for (index, outcome) in indices.zip(outcomes) {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Refused(error) => {
                    failures.refused.insert(index, error);
                }
                ItemOutcome::Unstored(error) => {
                    failures.unstored.insert(index, error.into());
                }
            }
        }
        failures
    }

    /// None of these items is written, for this reason.
    fn all<I>(items: &[I], index_of: fn(&I) -> usize, reason: &UnstoredReason) -> Self {
        let with_reason = |item| (index_of(item), reason.clone());
        Self {
            refused: BTreeMap::new(),
            unstored: items.iter().map(with_reason).collect(),
        }
    }
}

impl UnstoredSignals {
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty() && self.rejected.is_empty()
    }

    /// The reason that says most to the operator. `None` if all signals are stored.
    pub fn reason(&self) -> Option<UnstoredReason> {
        UnstoredReason::most_telling(self.signals.values().chain(self.rejected.values()))
    }
}
