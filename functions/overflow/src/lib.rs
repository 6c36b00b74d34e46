//! The drain of the overflow queue: stores the signals that the signals function accepted and DynamoDB did not acknowledge in
//! time (docs/reliability.md, Overflow).
//!
//! A message is deleted only after all of its signals are stored, valid or rejected: a drain that fails or is killed runs
//! again, and writes the same items over themselves. The messages of an event are drained at the same time, and share the
//! calls that each table allows, so that one that DynamoDB throttles delays no other. This crate has the order of the steps.

mod event;

use std::time::Duration;

use futures_util::future::join_all;
use lambda_runtime::Context;
use model::batch::Batch;
use model::deadline::Deadline;
use model::json::JsonText;
use model::pointer::JsonPointer;
use model::signal::Signal;
use model::timestamp::Timestamp;
use service::context::deadline_of;
use service::telemetry::drain_log::{self, Drained};
use store::batch_context::BatchContext;
use store::client::dynamodb;
use store::deadline::WRITE_TIMEOUT;
use store::environment::{ConfigError, env_var, optional_env_var, sdk_config};
use store::error::StoreError;
use store::idempotency::{IdempotencyTable, Outcome};
use store::overflow::{DeferredBatch, OverflowQueue, UnreadableMessage};
use store::rejected_signals::{self, RejectedSignalRecord, RejectedSignalsTable};
use store::signals::SignalsTable;

pub use self::event::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};

/// The longest that one invocation may take: longer than its messages may, and than the dead-letter queue takes for them.
const MAX_DRAIN_DURATION: Duration = Duration::from_secs(50);

/// The longest that a message may take. One of a throttled customer must not occupy the function.
const MESSAGE_TIMEOUT: Duration = WRITE_TIMEOUT;

/// The function: its tables, and the queue for messages that it cannot read.
#[derive(Debug)]
pub struct OverflowFunction {
    idempotency: IdempotencyTable,
    signals: SignalsTable,
    rejected: RejectedSignalsTable,
    dead_letters: Option<OverflowQueue>,
}

/// An invocation.
#[derive(Clone, Copy)]
struct Drain<'a> {
    request_id: &'a str,
    now: Timestamp,
    deadline: Deadline,
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
            RejectedSignalsTable::new(&client, rejected),
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
        let drain = Drain { request_id: &lambda.request_id, now, deadline };
        let failures = join_all(event.records.into_iter().map(async |SqsMessage { message_id, body }| {
            let is_drained = self.drain_or_report(body, drain).await;
            (!is_drained).then_some(BatchItemFailure { item_identifier: message_id })
        }));
        SqsBatchResponse { batch_item_failures: failures.await.into_iter().flatten().collect() }
    }

    /// Drains a message. Returns whether it is done with.
    async fn drain_or_report(&self, body: String, drain: Drain<'_>) -> bool {
        match self.drain_message(&body, drain).await {
            Ok(()) => true,
            Err(DrainError::Store(error)) => {
                drain_log::failed(drain.now, drain.request_id, &error);
                false
            }
            // Delivered again, it would be as unreadable.
            Err(DrainError::Unreadable(_)) => self.dead_letter(body, drain).await,
        }
    }

    async fn drain_message(&self, body: &str, drain: Drain<'_>) -> Result<(), DrainError> {
        let Drain { request_id, now, .. } = drain;
        let deadline = drain.deadline.at_most(MESSAGE_TIMEOUT);
        let mut deferred = DeferredBatch::parse(body)?;
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
        batch.reject(&invalid);
        let rejected_now = batch.rejected.iter().map(|signal| RejectedSignalRecord::new(context, signal, now));
        let expires_at = now.plus(rejected_signals::RETENTION).seconds();
        let rejected_by_request =
            rejected_by_request.into_iter().map(|record| RejectedSignalRecord { expires_at, ..record });
        let rejected: Vec<_> = rejected_now.chain(rejected_by_request).collect();
        self.rejected.put(&rejected, deadline).await.map_err(StoreError::from)?;
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
    async fn dead_letter(&self, body: String, drain: Drain<'_>) -> bool {
        let sent = match &self.dead_letters {
            Some(queue) => queue.send(vec![body], None, drain.deadline).await.is_ok(),
            None => false,
        };
        drain_log::unreadable(drain.now, drain.request_id, sent);
        sent
    }
}

/// Reads the signals again. One that this version finds invalid becomes a rejected one.
fn parse<'a>(deferred: &'a DeferredBatch<'_>) -> Result<Batch<'a>, UnreadableMessage> {
    let path = JsonPointer::Member(&JsonPointer::Root, "signals");
    let mut batch = Batch::default();
    for signal in &deferred.signals {
        let text = JsonText::parse(&signal.text).map_err(|_| UnreadableMessage)?;
        batch.add(Signal::parse(text.value(), signal.index, &JsonPointer::Element(&path, signal.index)));
    }
    Ok(batch)
}
