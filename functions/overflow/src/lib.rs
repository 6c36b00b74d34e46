//! The drain of the overflow queue: stores the signals and the updates of customers that a function
//! accepted and DynamoDB did not acknowledge in time (docs/outages.md, The overflow queue).
//!
//! A message is deleted only after all of it is stored: a drain that fails or is killed runs again,
//! and makes the same writes. The messages of an event are drained at the same time, each with
//! calls of its own, so that a throttled message delays no other. The content of a message was
//! acknowledged, so the rules of the API are not applied again. This crate has the order of the steps. It must
//! not know how a message or an item is written. Its tests are `tests/simulator/tests/scripted/overflow`.

mod drain_batch;
mod drain_log;
pub mod drain_metrics;
mod drain_update;
mod sqs_event;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use aws::connectors::Connectors;
use aws::deadline::Deadline;
use aws::dynamodb::dynamodb;
use aws::sdk_config::sdk_config;
use aws::sqs::Queue;
use aws::variables::{ConfigError, Variables};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use lambda_runtime::Context;
use model::timestamp::Timestamp;
use service::budget::invocation_deadline;
use service::runtime::InvocationOutcome;
use service::runtime::batch_item_failures::{BatchItemFailure, PartialBatchResponse};
use service::telemetry::log::Log;
use store::batch_pipeline::BatchTables;
use store::customers::CustomersTable;
use store::error::{StoreError, UnstoredReason};
use store::overflow_messages::{DEAD_LETTER_QUEUE_VARIABLE, Deferred, MessageError};
use tracing::Instrument as _;

pub use self::sqs_event::{SqsEvent, SqsMessage};

/// The longest that the drain of an event may take. The rest of the function's timeout is for dead
/// letters, each of which has [`DEAD_LETTER_TIMEOUT`].
const MAX_DRAIN_DURATION: Duration = Duration::from_secs(50);

/// How long the drain of a message waits for DynamoDB without progress.
const NO_PROGRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a call to the dead-letter queue may take.
const DEAD_LETTER_TIMEOUT: Duration = Duration::from_secs(5);

/// The function: its tables, and the queue for messages that it cannot drain.
#[derive(Debug)]
pub struct OverflowFunction {
    /// Where deferred updates of customers go.
    customers: CustomersTable,
    /// Where deferred signals go, and rejected ones.
    batches: BatchTables,
    /// The dead-letter queue of the overflow queue.
    dead_letters: Queue,
}

/// What the drains of all messages of an event have in common.
#[derive(Clone, Copy)]
struct DrainContext<'a> {
    /// Where the log lines go.
    log: &'a Log,
    request_id: &'a str,
    now: Timestamp,
    /// When the drains must have ended. The invocation then has time left for dead letters.
    deadline: Deadline,
}

/// The outcome of a message.
struct MessageOutcome {
    message_id: String,
    /// Whether SQS may delete it.
    may_be_deleted: bool,
    are_credentials_refused: bool,
}

/// Why a message was not drained. [`OverflowFunction::drain_and_report`] sends a message that would
/// fail again to the dead-letter queue, and leaves any other in the overflow queue.
#[derive(Debug, thiserror::Error)]
enum DrainError {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Unstored(#[from] UnstoredReason),
    /// The update of a customer, or a rejected signal, was refused for good, for this reason.
    #[error(transparent)]
    Refused(StoreError),
    #[error("Panic")]
    Panic,
}

impl OverflowFunction {
    /// The function with the tables and the dead-letter queue that the variables name.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        Self::new(variables, &Connectors::from_variables(variables)?)
    }

    /// The same function with these connectors.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn new(variables: &Variables, connectors: &Connectors) -> Result<Self, ConfigError> {
        let customers = variables.required(CustomersTable::VARIABLE)?;
        let dead_letters = variables.required(DEAD_LETTER_QUEUE_VARIABLE)?;
        let client = dynamodb(&sdk_config(variables, &connectors.dynamodb)?);
        let sqs = sdk_config(variables, &connectors.sqs)?;
        Ok(Self {
            // A message says when its signals expire.
            batches: BatchTables::from_variables(variables, &client, None)?,
            customers: CustomersTable::new(client, customers),
            dead_letters: Queue::new(&sqs, dead_letters),
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
    ) -> InvocationOutcome<PartialBatchResponse> {
        let drain_context = DrainContext {
            log,
            request_id: &lambda.request_id,
            now,
            deadline: invocation_deadline(lambda, now, MAX_DRAIN_DURATION),
        };
        let messages = event.records.into_iter();
        let drains = messages.map(|message| self.drain_and_report(message, drain_context));
        let outcomes = join_all(drains).await;
        let mut response = PartialBatchResponse::default();
        let mut are_credentials_refused = false;
        for outcome in outcomes {
            are_credentials_refused |= outcome.are_credentials_refused;
            if !outcome.may_be_deleted {
                response.batch_item_failures.push(BatchItemFailure {
                    item_identifier: outcome.message_id,
                });
            }
        }
        InvocationOutcome {
            response,
            are_credentials_refused,
        }
    }

    /// Drains a message, and writes its line to the log.
    async fn drain_and_report(
        &self,
        message: SqsMessage,
        drain_context: DrainContext<'_>,
    ) -> MessageOutcome {
        let SqsMessage { message_id, body } = message;
        // Every line of the log has the id of the invocation, also the line of a panic.
        let span = tracing::info_span!("drain", requestId = drain_context.request_id);
        // A panic over one message must not fail the others.
        let drained = AssertUnwindSafe(self.drain_message(&body, drain_context))
            .catch_unwind()
            .instrument(span)
            .await;
        let Err(error) = drained.unwrap_or(Err(DrainError::Panic)) else {
            return MessageOutcome {
                message_id,
                may_be_deleted: true,
                are_credentials_refused: false,
            };
        };
        let is_dead_letter = match &error {
            // Delivered again, it would fail again.
            DrainError::Message(MessageError::Unreadable) | DrainError::Refused(_) => {
                self.send_dead_letter(body, &error).await
            }
            DrainError::Message(MessageError::Newer)
            | DrainError::Unstored(_)
            | DrainError::Panic => false,
        };
        drain_log::write_failed(drain_context, &error.to_string(), is_dead_letter);
        let are_credentials_refused = match &error {
            DrainError::Unstored(reason) => reason.are_credentials_refused(),
            DrainError::Message(_) | DrainError::Refused(_) | DrainError::Panic => false,
        };
        MessageOutcome {
            message_id,
            may_be_deleted: is_dead_letter,
            are_credentials_refused,
        }
    }

    async fn drain_message(
        &self,
        body: &str,
        drain_context: DrainContext<'_>,
    ) -> Result<(), DrainError> {
        match Deferred::parse(body)? {
            Deferred::Batch(deferred) => self.drain_batch(deferred, drain_context).await,
            Deferred::Update(head) => self.drain_update(body, &head, drain_context).await,
        }
    }

    /// Sends a message to the dead-letter queue, with the reason. Returns whether the queue has it.
    async fn send_dead_letter(&self, body: String, error: &DrainError) -> bool {
        let deadline = Deadline::after(DEAD_LETTER_TIMEOUT);
        let sent = self
            .dead_letters
            .send_dead_letter(body, &error.to_string(), deadline)
            .await;
        if let Err(error) = &sent {
            tracing::error!(%error, "the dead-letter queue did not accept a message");
        }
        sent.is_ok()
    }
}
