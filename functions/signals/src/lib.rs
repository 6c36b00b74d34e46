//! `POST /api/event-flows/signal`: the story of one request.
//!
//! Steps are put in order here; how each is done is in [`model`], [`store`] and [`service`].

mod outcome;

use std::time::Duration;

use lambda_http::{Body, Request, Response};
use model::batch::{Batch, BatchError};
use model::deadline::Deadline;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use service::auth::{Authenticator, Caller};
use service::config::{self, ConfigError};
use service::invocation::Invocation;
use service::problem::Problem;
use service::request::{self, Route};
use service::response::{self, Answer};
use service::telemetry::request_log::{BatchCounts, RequestLog};
use store::api_keys::ApiKeysTable;
use store::client;
use store::idempotency::{IdempotencyRecord, IdempotencyTable, Moment, Outcome};
use store::rejected_signals::{NewRejectedSignal, RejectedSignalsTable};
use store::signals::BatchContext;
use store::{StoreError, WRITE_TIMEOUT};

use crate::outcome::BatchOutcome;

/// The paths that this function answers.
pub const ROUTES: &[Route] = &[Route { path: "/api/event-flows/signal", methods: &["POST"] }];

/// What is kept back of the storage's time to write a claim after all, when the signals could not be written whole.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// How long keeping rejected signals may take: it must not cost the accepted ones their answer.
const DEAD_LETTER_TIMEOUT: Duration = Duration::from_secs(2);

/// The function: whose requests it may do, and where signals and claims are.
#[derive(Debug)]
pub struct SignalsFunction {
    authenticator: Authenticator,
    requests: IdempotencyTable,
    table: store::signals::SignalsTable,
    rejected: RejectedSignalsTable,
}

impl SignalsFunction {
    /// The function as its environment describes it.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub async fn from_environment() -> Result<Self, ConfigError> {
        let (keys, requests) = (config::env_var("API_KEYS_TABLE")?, config::env_var("IDEMPOTENCY_TABLE")?);
        let (table, rejected) = (config::env_var("SIGNALS_TABLE")?, config::env_var("REJECTED_SIGNALS_TABLE")?);
        let days = config::env_u64("SIGNAL_RETENTION_DAYS")?;
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let client = client::from_environment().await?;
        Ok(Self::new(
            ApiKeysTable::new(client.clone(), keys),
            IdempotencyTable::new(client.clone(), requests),
            store::signals::SignalsTable::new(client.clone(), table, retention),
            RejectedSignalsTable::new(client, rejected),
        ))
    }

    /// The function over these tables.
    #[must_use]
    pub fn new(
        keys: ApiKeysTable,
        requests: IdempotencyTable,
        table: store::signals::SignalsTable,
        rejected: RejectedSignalsTable,
    ) -> Self {
        Self { authenticator: Authenticator::new(keys), requests, table, rejected }
    }

    /// Does what the first request would otherwise wait for: see [`Authenticator::warm_up`].
    pub async fn warm_up(&self) {
        self.authenticator.warm_up().await;
    }

    /// Answers one request, whatever it is.
    pub async fn handle(&self, request: &Request, invocation: &Invocation) -> Response<Body> {
        response::conclude(invocation, async |record| self.accept(request, invocation, record).await).await
    }

    async fn accept(
        &self,
        request: &Request,
        invocation: &Invocation,
        record: &mut RequestLog,
    ) -> Result<Answer, Problem> {
        let route = request::route(ROUTES, request)?;
        record.route(route);
        if request::asks_for_options(request) {
            return Ok(Answer::Options(route));
        }
        let caller = self.authenticator.authenticate(request.headers(), invocation).await?;
        record.caller(&caller);
        let body = request::read_body(request)?;
        record.bytes(body.len());
        let batch = Batch::parse(request::parse_json(&body)?).map_err(refusal)?;
        let request_identifier = batch.request_identifier.clone().unwrap_or_else(RequestIdentifier::random);
        if !batch.rejected.is_empty() && request::prefers_strict_handling(request.headers()) {
            record.signals(BatchCounts { received: batch.received(), accepted: 0, replayed: false });
            return Err(outcome::refuse_whole(&request_identifier, batch));
        }
        let outcome = self.store(&caller, &body, batch, request_identifier, invocation, record).await?;
        record.signals(outcome.counts());
        let (answer, errors) = outcome.answer()?;
        record.errors(&errors);
        Ok(answer)
    }

    /// Claims the request, if its caller named it and something of it is valid, and writes its signals: the valid ones
    /// to be kept, the others to be looked at.
    async fn store<'a>(
        &self,
        caller: &Caller,
        body: &str,
        batch: Batch<'a>,
        request_identifier: RequestIdentifier,
        invocation: &Invocation,
        record: &mut RequestLog,
    ) -> Result<BatchOutcome<'a>, Problem> {
        let claim = IdempotencyRecord {
            account_id: &caller.account_id,
            request_identifier: &request_identifier,
            body,
            batch: &batch,
            received_at: invocation.received_at,
            invocation_id: &invocation.id,
        };
        let named = batch.request_identifier.is_some() && !batch.signals.is_empty();
        let deadline = invocation.deadline.minus(LATE_RECORD_TIMEOUT).min(WRITE_TIMEOUT);
        let replay_of = if named { self.claim(claim, deadline).await? } else { None };
        let received_at = replay_of.unwrap_or(invocation.received_at);
        let context =
            BatchContext { account_id: &caller.account_id, request_identifier: &request_identifier, received_at };
        let rejected: Vec<NewRejectedSignal<'_>> = batch.rejected.iter().map(NewRejectedSignal::from).collect();
        let (stored, kept) = tokio::join!(
            self.table.put(context, &batch.signals, deadline),
            self.rejected.keep(context, &caller.key_id, &rejected, invocation.deadline.min(DEAD_LETTER_TIMEOUT)),
        );
        note(kept, record);
        let refused = match stored {
            Ok(refused) => refused,
            Err(error) => {
                let claimed = named || self.claim_late(claim).await;
                let retry_identifier = claimed.then_some(request_identifier);
                return Err(Problem::StorageUnavailable { error, retry_identifier });
            }
        };
        let errors: Vec<_> = refused.iter().map(|index| outcome::refused_by_store(*index)).collect();
        let also_rejected = outcome::keep_refused(&batch, &refused, &errors);
        let deadline = invocation.deadline.min(DEAD_LETTER_TIMEOUT);
        note(self.rejected.keep(context, &caller.key_id, &also_rejected, deadline).await, record);
        Ok(BatchOutcome { batch, request_identifier, replayed: replay_of.is_some(), refused })
    }

    /// When the request first arrived, if this is a retry.
    async fn claim(&self, claim: IdempotencyRecord<'_>, deadline: Deadline) -> Result<Option<Timestamp>, Problem> {
        match self.requests.claim(claim, Moment::First, deadline).await {
            Ok(Outcome::New) => Ok(None),
            Ok(Outcome::Replay { received_at }) => Ok(Some(received_at)),
            Ok(Outcome::Conflict) => Err(Problem::RequestIdentifierReused),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Whether a retry with this identifier will write the same items over themselves.
    async fn claim_late(&self, claim: IdempotencyRecord<'_>) -> bool {
        let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
        matches!(self.requests.claim(claim, Moment::Late, deadline).await, Ok(Outcome::New))
    }
}

/// That rejected signals could not be kept is for the operator to know, and changes no response.
fn note(kept: Result<(), StoreError>, record: &mut RequestLog) {
    if let Err(error) = kept {
        tracing::error!(%error, "rejected signals could not be kept");
        record.dead_letter_failure();
    }
}

fn refusal(error: BatchError) -> Problem {
    match error {
        BatchError::Invalid(errors) => Problem::ValidationFailed(errors),
        BatchError::TooManySignals { sent } => Problem::TooManySignals { sent },
    }
}

/// A claim that DynamoDB refuses is a defect of this service: everything in it is made here.
fn unavailable(error: StoreError) -> Problem {
    match error {
        StoreError::Invalid | StoreError::ItemTooLarge | StoreError::Corrupt => Problem::defect(&error),
        error @ StoreError::Unavailable(_) => Problem::StorageUnavailable { error, retry_identifier: None },
    }
}
