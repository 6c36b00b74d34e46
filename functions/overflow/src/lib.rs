//! The drain of the overflow queue: stores the signals and the updates of customers that a function
//! accepted and DynamoDB did not acknowledge in time (docs/reliability.md, Overflow).
//!
//! A message is deleted only after all of it is stored: a drain that fails or is killed runs again,
//! and makes the same writes. The messages of an event are drained at the same time, each with
//! calls of its own, so that one that DynamoDB throttles delays no other. This crate has the order
//! of the steps.

mod event;
mod log;
pub mod metric;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use aws::cause::Cause;
use aws::client::dynamodb;
use aws::deadline::Deadline;
use aws::environment::{ConfigError, Variables, sdk_config};
use aws::queue::Queue;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use lambda_runtime::Context;
use model::batch::Batch;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use service::context::time_left;
use service::runtime::Answer;
use service::telemetry::log::Log;
use store::ItemOutcome;
use store::batch_context::BatchContext;
use store::customers::{CustomersTable, NewerField, Upsert};
use store::error::StoreError;
use store::idempotency::{IdempotencyTable, Outcome};
use store::overflow::{Deferred, DeferredBatch, DeferredUpdate, MessageError};
use store::rejected_signals::{self, RejectedSignalItem, RejectedSignalsTable};
use store::retry::PATIENCE;
use store::signals::SignalsTable;
use tracing::Instrument as _;

pub use self::event::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use self::log::{Drained, DrainedSignals};

/// The longest that a drain may take: less than the function's timeout by the time for dead
/// letters.
const MAX_DRAIN_DURATION: Duration = Duration::from_secs(50);

/// The function: its tables, and the queue for messages that it cannot drain.
#[derive(Debug)]
pub struct OverflowFunction {
    /// Where deferred updates of customers go.
    pub customers: CustomersTable,
    /// The records that make a drain and a retry write the same items.
    pub idempotency: IdempotencyTable,
    /// Where deferred signals go.
    pub signals: SignalsTable,
    /// Where signals go that DynamoDB or this version refuses.
    pub rejected: RejectedSignalsTable,
    /// The dead-letter queue of the overflow queue.
    pub dead_letters: Option<Queue>,
}

/// The drain of one message.
#[derive(Clone, Copy)]
struct Drain<'a> {
    /// Where its lines go.
    log: &'a Log,
    request_id: &'a str,
    now: Timestamp,
    /// When the invocation must have ended.
    deadline: Deadline,
}

/// What became of a message.
struct MessageOutcome {
    /// Whether SQS may delete it.
    is_done: bool,
    are_credentials_refused: bool,
}

/// Why a message was not drained.
#[derive(Debug, thiserror::Error)]
enum DrainError {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// DynamoDB, or a newer version's validation, refuses the update of a customer.
    #[error("{0}")]
    Refused(&'static str),
    #[error("Panic")]
    Panic,
}

impl OverflowFunction {
    /// The function with the tables that the variables name.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let customers = variables.required("CUSTOMERS_TABLE")?;
        let idempotency = variables.required("IDEMPOTENCY_TABLE")?;
        let signals = variables.required("SIGNALS_TABLE")?;
        let rejected = variables.required("REJECTED_SIGNALS_TABLE")?;
        let dead_letters = variables.optional("DEAD_LETTER_QUEUE_URL");
        let config = sdk_config(variables)?;
        let client = dynamodb(&config);
        Ok(Self {
            customers: CustomersTable::new(client.clone(), customers),
            idempotency: IdempotencyTable::new(client.clone(), idempotency),
            signals: SignalsTable::new(client.clone(), signals, None),
            rejected: RejectedSignalsTable::new(client.clone(), rejected),
            dead_letters: dead_letters.map(|url| Queue::new(&config, url)),
        })
    }

    /// Drains each message of an event that came at `now`, and writes a line for each to `log`.
    /// Returns the messages that are to be delivered again.
    pub async fn drain(
        &self,
        event: SqsEvent,
        lambda: &Context,
        now: Timestamp,
        log: &Log,
    ) -> Answer<SqsBatchResponse> {
        let deadline = Deadline::after(time_left(lambda.deadline, now, MAX_DRAIN_DURATION));
        let drain = Drain {
            log,
            request_id: &lambda.request_id,
            now,
            deadline,
        };
        let drained = join_all(event.records.into_iter().map(
            async |SqsMessage { message_id, body }| {
                (message_id, self.drain_or_report(body, drain).await)
            },
        ));
        let mut response = SqsBatchResponse::default();
        let mut are_credentials_refused = false;
        for (item_identifier, outcome) in drained.await {
            are_credentials_refused |= outcome.are_credentials_refused;
            if !outcome.is_done {
                let failure = BatchItemFailure { item_identifier };
                response.batch_item_failures.push(failure);
            }
        }
        Answer {
            response,
            are_credentials_refused,
        }
    }

    /// Drains a message, and writes its line to the log.
    async fn drain_or_report(&self, body: String, drain: Drain<'_>) -> MessageOutcome {
        // Each line of the log, also a panic's, has the id of the invocation.
        let span = tracing::info_span!("drain", requestId = drain.request_id);
        // A defect that one message meets must not cost the others.
        let drained = AssertUnwindSafe(self.drain_message(&body, drain))
            .catch_unwind()
            .instrument(span)
            .await;
        let Err(error) = drained.unwrap_or(Err(DrainError::Panic)) else {
            return MessageOutcome {
                is_done: true,
                are_credentials_refused: false,
            };
        };
        let is_dead_letter = match &error {
            // Delivered again, it would fail again.
            DrainError::Message(MessageError::Unreadable) | DrainError::Refused(_) => {
                self.dead_letter(body, &error).await
            }
            DrainError::Message(MessageError::Newer) | DrainError::Store(_) | DrainError::Panic => {
                false
            }
        };
        log::failed(drain, &error.to_string(), is_dead_letter);
        MessageOutcome {
            is_done: is_dead_letter,
            are_credentials_refused: matches!(
                error,
                DrainError::Store(StoreError::Unavailable(Cause::InvalidCredentials))
            ),
        }
    }

    async fn drain_message(&self, body: &str, drain: Drain<'_>) -> Result<(), DrainError> {
        match Deferred::parse(body)? {
            Deferred::Batch(deferred) => self.drain_batch(deferred, drain).await,
            Deferred::Update(deferred) => self.drain_update(body, &deferred, drain).await,
        }
    }

    async fn drain_update(
        &self,
        body: &str,
        deferred: &DeferredUpdate<'_>,
        drain: Drain<'_>,
    ) -> Result<(), DrainError> {
        let text = JsonText::parse(body).map_err(|_| MessageError::Unreadable)?;
        let update =
            CustomerUpdate::parse(text).map_err(|_| DrainError::Refused("ValidationFailed"))?;
        let DeferredUpdate {
            account_id,
            key_id,
            mark,
            ..
        } = deferred;
        let upsert = Upsert {
            account_id,
            update: &update,
            mark: *mark,
            newer_field: NewerField::Keep,
            now: drain.now,
        };
        let deadline = drain.deadline.at_most(PATIENCE);
        let stored = self.customers.upsert(upsert, deadline).await;
        stored.map_err(|error| match error {
            StoreError::ItemTooLarge => DrainError::Refused("ItemTooLarge"),
            StoreError::Invalid => DrainError::Refused("ValidationException"),
            error => error.into(),
        })?;
        log::drained(
            drain,
            &Drained {
                account_id,
                key_id,
                received_at: mark.updated_at(),
                request_identifier: None,
                signals: None,
                is_conflict: false,
            },
        );
        Ok(())
    }

    async fn drain_batch(
        &self,
        mut deferred: DeferredBatch<'_>,
        drain: Drain<'_>,
    ) -> Result<(), DrainError> {
        let Drain {
            request_id,
            now,
            deadline,
            ..
        } = drain;
        let rejected_by_request = std::mem::take(&mut deferred.rejected);
        let request_identifier = deferred.request_identifier()?;
        let mut context = BatchContext {
            account_id: &deferred.account_id,
            key_id: &deferred.key_id,
            request_identifier: &request_identifier,
            received_at: deferred.received_at,
            request_id,
        };
        let mut is_conflict = false;
        if deferred.needs_record {
            match self
                .idempotency
                .begin(context, &deferred.hashes, now, deadline.at_most(PATIENCE))
                .await?
            {
                Outcome::New => {}
                // An attempt came first, and its items have its time.
                Outcome::Replay { received_at } => context.received_at = received_at,
                // The signals were acknowledged, so they are stored all the same.
                Outcome::Conflict => is_conflict = true,
            }
        }
        let mut batch = parse(&deferred)?;
        let table = self.signals.for_message(deferred.retention());
        batch.reject(&store_all(&table, context, &batch.signals, deadline).await?);
        let rejected_now = batch
            .rejected
            .iter()
            .map(|signal| RejectedSignalItem::new(context, signal, now));
        let expires_at = now.plus(rejected_signals::RETENTION).seconds();
        let rejected_by_request = rejected_by_request
            .into_iter()
            .map(|item| RejectedSignalItem { expires_at, ..item });
        let rejected: Vec<_> = rejected_now.chain(rejected_by_request).collect();
        let outcomes = self
            .rejected
            .for_message()
            .store(&rejected, deadline.at_most(PATIENCE))
            .await;
        for outcome in outcomes {
            match outcome {
                ItemOutcome::Stored => {}
                ItemOutcome::Invalid => return Err(StoreError::Invalid.into()),
                ItemOutcome::Unacknowledged(error) => return Err(error.into()),
            }
        }
        let signals = DrainedSignals {
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
        };
        log::drained(
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

    /// Sends a message to the dead-letter queue, with the reason. Returns whether that has it.
    async fn dead_letter(&self, body: String, error: &DrainError) -> bool {
        let Some(queue) = &self.dead_letters else {
            return false;
        };
        queue
            .send_dead_letter(body, &error.to_string(), Deadline::after(PATIENCE))
            .await
            .is_ok()
    }
}

/// Stores signals; returns the indices of those that DynamoDB found invalid. A message of which
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
        let now = left.iter().copied();
        let outcomes = table.store(context, now, deadline.at_most(PATIENCE)).await;
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
fn parse<'a>(deferred: &'a DeferredBatch<'_>) -> Result<Batch<'a>, MessageError> {
    let path = JsonPointer::Member(&JsonPointer::Root, "signals");
    let mut batch = Batch::default();
    for signal in &deferred.signals {
        let text = JsonText::parse(&signal.text).map_err(|_| MessageError::Unreadable)?;
        batch.add(Signal::parse(
            text.value(),
            signal.index,
            &JsonPointer::Element(&path, signal.index),
        ));
    }
    Ok(batch)
}
