//! The drain of the overflow queue: stores the signals that the signals function accepted and DynamoDB did not acknowledge in
//! time (docs/reliability.md, Overflow).
//!
//! A message is deleted only after all of its signals are stored, valid or rejected: a drain that fails or is killed runs
//! again, and writes the same items over themselves. This crate has the order of the steps.

mod event;

use std::time::Duration;

use lambda_runtime::Context;
use model::batch::Batch;
use model::deadline::Deadline;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use service::config::{ConfigError, env_var, optional_env_var};
use service::context::deadline_of;
use service::telemetry::drain_log::{self, Drained};
use store::batch_context::BatchContext;
use store::client::dynamodb;
use store::environment::sdk_config;
use store::error::StoreError;
use store::idempotency::{IdempotencyTable, Outcome};
use store::overflow::{DeferredBatch, OverflowQueue, UnreadableMessage};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

pub use self::event::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

/// The longest that one invocation may take: longer than DynamoDB takes for the largest event.
const MAX_DRAIN_DURATION: Duration = Duration::from_secs(50);

/// The function: its tables, and the queue for messages that it cannot read.
#[derive(Debug)]
pub struct OverflowFunction {
    idempotency: IdempotencyTable,
    signals: SignalsTable,
    rejected: RejectedSignalsTable,
    dead_letters: Option<OverflowQueue>,
}

/// Why a message was not drained.
#[derive(Debug, thiserror::Error)]
enum DrainError {
    #[error(transparent)]
    Unreadable(#[from] UnreadableMessage),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OverflowFunction {
    /// The function with the tables that the environment variables name.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let (idempotency, signals) = (env_var("IDEMPOTENCY_TABLE")?, env_var("SIGNALS_TABLE")?);
        let rejected = env_var("REJECTED_SIGNALS_TABLE")?;
        let config = sdk_config()?;
        let client = dynamodb(&config);
        Ok(Self::new(
            IdempotencyTable::new(client.clone(), idempotency),
            SignalsTable::new(client.clone(), signals, None),
            RejectedSignalsTable::new(client, rejected),
            optional_env_var("DEAD_LETTER_QUEUE_URL").map(|url| OverflowQueue::new(&config, url)),
        ))
    }

    /// The function with these tables, and a queue for messages that it cannot read.
    pub fn new(
        idempotency: IdempotencyTable,
        signals: SignalsTable,
        rejected: RejectedSignalsTable,
        dead_letters: Option<OverflowQueue>,
    ) -> Self {
        Self { idempotency, signals, rejected, dead_letters }
    }

    /// Stores the signals of each message of an event that came at `now`. Returns the messages that are to be delivered again.
    pub async fn drain(&self, event: SqsEvent, lambda: &Context, now: Timestamp) -> SqsBatchResponse {
        let deadline = deadline_of(lambda.deadline, now, MAX_DRAIN_DURATION);
        let mut response = SqsBatchResponse::default();
        for SqsMessage { message_id, body } in event.records {
            let is_drained = match self.drain_message(&body, &lambda.request_id, now, deadline).await {
                Ok(()) => true,
                Err(DrainError::Store(error)) => {
                    drain_log::failed(now, &lambda.request_id, &error);
                    false
                }
                // Delivered again, it would be as unreadable.
                Err(DrainError::Unreadable(_)) => self.dead_letter(body, &lambda.request_id, now, deadline).await,
            };
            if !is_drained {
                response.batch_item_failures.push(BatchItemFailure { item_identifier: message_id });
            }
        }
        response
    }

    async fn drain_message(
        &self,
        body: &str,
        invocation_id: &str,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DrainError> {
        let deferred = DeferredBatch::parse(body)?;
        let request_identifier = deferred.request_identifier()?;
        let mut context = BatchContext {
            account_id: &deferred.account_id,
            key_id: &deferred.key_id,
            request_identifier: &request_identifier,
            received_at: deferred.received_at,
            invocation_id,
        };
        let mut is_conflict = false;
        if deferred.has_record {
            match self.idempotency.begin_deferred(context, &deferred, now, deadline).await? {
                Outcome::New => {}
                // An attempt came first, and its items have its time.
                Outcome::Replay { received_at } => context.received_at = received_at,
                // The signals were acknowledged, so they are stored all the same.
                Outcome::Conflict => is_conflict = true,
            }
        }
        let mut batch = parse(&deferred)?;
        let signals = self.signals.with_retention(deferred.retention());
        let invalid = signals.put(context, &batch.signals, deadline).await.map_err(StoreError::from)?;
        batch.refused_by_store(&invalid);
        self.rejected.put(context, &batch.rejected, deadline).await?;
        drain_log::drained(&Drained {
            now,
            context,
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
            is_conflict,
        });
        Ok(())
    }

    /// Sends a message that cannot be read to the dead-letter queue. Returns whether that has it.
    async fn dead_letter(&self, body: String, invocation_id: &str, now: Timestamp, deadline: Deadline) -> bool {
        let sent = match &self.dead_letters {
            Some(queue) => queue.send(vec![body], deadline).await.is_ok(),
            None => false,
        };
        drain_log::unreadable(now, invocation_id, sent);
        sent
    }
}

/// Reads the signals again. One that this version finds invalid becomes a rejected one.
fn parse<'a>(deferred: &'a DeferredBatch<'_>) -> Result<Batch<'a>, UnreadableMessage> {
    let path = JsonPointer::Member(&JsonPointer::Root, "signals");
    let mut batch = Batch { request_identifier: None, signals: Vec::new(), rejected: Vec::new(), warnings: Vec::new() };
    for signal in &deferred.signals {
        let text = JsonText::parse(&signal.text).map_err(|_| UnreadableMessage)?;
        match Signal::parse(text, signal.index, &JsonPointer::Element(&path, signal.index)) {
            Ok(signal) => batch.signals.push(signal),
            Err(rejected) => batch.rejected.push(rejected),
        }
    }
    Ok(batch)
}
