//! `POST /api/event-flows/signal`.
//!
//! This crate has the order of the steps; each step is in [`model`], [`store`] or [`service`].

use std::time::Duration;

use lambda_http::Request;
use model::api_key::Endpoint;
use model::batch::Batch;
use model::deadline::Deadline;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use service::auth::{Authenticator, authorize};
use service::config::{ConfigError, env_u64, env_var};
use service::context::RequestContext;
use service::problem::Problem;
use service::request::{prefers_strict_handling, read_body};
use service::route::Route;
use service::runtime::Function;
use service::success::{BatchResponse, Success};
use service::telemetry::request_log;
use store::api_keys::ApiKeysTable;
use store::batch_context::BatchContext;
use store::client;
use store::deadline::WRITE_TIMEOUT;
use store::idempotency::{IdempotencyTable, Outcome};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

/// The part of the request's time that is reserved for an idempotency record after signals could not be stored.
const LATE_RECORD_TIMEOUT: Duration = Duration::from_millis(500);

/// How long storing rejected signals may take, so that it does not cost the accepted ones their response.
const DEAD_LETTER_TIMEOUT: Duration = Duration::from_secs(2);

/// The function: its authenticator and its tables.
#[derive(Debug)]
pub struct SignalsFunction {
    authenticator: Authenticator,
    idempotency: IdempotencyTable,
    table: SignalsTable,
    rejected: RejectedSignalsTable,
}

impl SignalsFunction {
    /// The function with the tables that the environment variables name.
    ///
    /// # Errors
    /// When a variable is missing or malformed, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub async fn from_environment() -> Result<Self, ConfigError> {
        let (keys, idempotency) = (env_var("API_KEYS_TABLE")?, env_var("IDEMPOTENCY_TABLE")?);
        let (table, rejected) = (env_var("SIGNALS_TABLE")?, env_var("REJECTED_SIGNALS_TABLE")?);
        let days = env_u64("SIGNAL_RETENTION_DAYS")?;
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let client = client::from_environment().await?;
        Ok(Self::new(
            ApiKeysTable::new(client.clone(), keys),
            IdempotencyTable::new(client.clone(), idempotency),
            SignalsTable::new(client.clone(), table, retention),
            RejectedSignalsTable::new(client, rejected),
        ))
    }

    /// The function with these tables.
    pub fn new(
        keys: ApiKeysTable,
        idempotency: IdempotencyTable,
        table: SignalsTable,
        rejected: RejectedSignalsTable,
    ) -> Self {
        Self { authenticator: Authenticator::new(keys), idempotency, table, rejected }
    }

    /// Stores the valid signals of a batch and, for the operator, the rejected ones. Signals that DynamoDB finds invalid
    /// become rejected ones. Returns whether the request is a replay.
    async fn store(
        &self,
        batch: &mut Batch<'_>,
        body: &str,
        mut batch_context: BatchContext<'_>,
        context: &RequestContext,
    ) -> Result<bool, Problem> {
        let deadline = context.deadline.minus(LATE_RECORD_TIMEOUT).min(WRITE_TIMEOUT);
        // Without a valid signal, there is nothing that a retry could store twice.
        let has_record = batch.request_identifier.is_some() && !batch.signals.is_empty();
        let mut replayed = false;
        if has_record {
            match self.idempotency.begin(batch_context, body, batch, deadline).await? {
                Outcome::New => {}
                Outcome::Conflict => return Err(Problem::RequestIdentifierReused),
                Outcome::Replay { received_at } => {
                    replayed = true;
                    batch_context.received_at = received_at;
                }
            }
        }
        let dead_letter_deadline = || context.deadline.min(DEAD_LETTER_TIMEOUT);
        let (stored, dead_letters) = tokio::join!(
            self.table.put(batch_context, &batch.signals, deadline),
            self.rejected.put(batch_context, &batch.rejected, dead_letter_deadline()),
        );
        match stored {
            Ok(invalid) => {
                let refused = batch.refused_by_store(&invalid);
                let also_refused = self.rejected.put(batch_context, &refused, dead_letter_deadline()).await;
                request_log::dead_letters(context, &dead_letters.and(also_refused));
                Ok(replayed)
            }
            Err(error) => {
                request_log::dead_letters(context, &dead_letters);
                let deadline = Deadline::after(LATE_RECORD_TIMEOUT);
                let can_retry =
                    has_record || self.idempotency.record_after_failure(batch_context, body, batch, deadline).await;
                let retry_identifier = can_retry.then(|| batch_context.request_identifier.clone());
                Err(Problem::StorageUnavailable { error, retry_identifier })
            }
        }
    }
}

impl Function for SignalsFunction {
    const ROUTES: &'static [Route] = &[Route { path: "/api/event-flows/signal", methods: &["POST"] }];

    fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    async fn handle(&self, _: &Route, request: &Request, context: &mut RequestContext) -> Result<Success, Problem> {
        let key = self.authenticator.authenticate(request.headers(), context).await?;
        authorize(&key, Endpoint::Signals)?;
        let body = read_body(request, context)?;
        let mut batch = Batch::parse(JsonText::parse(&body)?)?;
        let request_identifier = batch.request_identifier.clone().unwrap_or_else(RequestIdentifier::random);
        if !batch.rejected.is_empty() && prefers_strict_handling(request.headers()) {
            return Err(Problem::batch_rejected(BatchResponse::new(batch, &request_identifier, false)));
        }
        let batch_context = BatchContext {
            account_id: &key.account_id,
            key_id: &key.key_id,
            request_identifier: &request_identifier,
            received_at: context.received_at,
            invocation_id: &context.invocation_id,
        };
        let replayed = self.store(&mut batch, &body, batch_context, context).await?;
        let response = BatchResponse::new(batch, &request_identifier, replayed);
        if response.counts.accepted == 0 {
            Err(Problem::batch_rejected(response))
        } else {
            Ok(Success::Batch(response))
        }
    }
}
