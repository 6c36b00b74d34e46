//! `POST /api/event-flows/signal`.
//!
//! This crate has the order of the steps; each step is in [`model`], [`store`] or [`service`].

mod store_batch;

use std::time::Duration;

use aws::client::dynamodb;
use aws::environment::{ConfigError, env_u64, env_var, optional_env_var, sdk_config};
use aws::queue::Queue;
use lambda_http::Request;
use model::api_key::Endpoint;
use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use service::auth::{Authenticator, authorize};
use service::body::read_body;
use service::context::RequestContext;
use service::prefer::prefers_strict_handling;
use service::problem::Problem;
use service::route::Route;
use service::runtime::Function;
use service::success::{BatchResponse, StoredBatch, Success};
use store::api_keys::ApiKeysTable;
use store::batch_context::BatchContext;
use store::idempotency::{IdempotencyTable, RequestHashes};
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

use self::store_batch::ReceivedBatch;
pub use self::store_batch::Storage;

/// The function: its authenticator, its tables and its queue.
#[derive(Debug)]
pub struct SignalsFunction {
    authenticator: Authenticator,
    storage: Storage,
}

impl SignalsFunction {
    /// The function with the tables that the environment variables name, and the overflow queue if
    /// one is named.
    ///
    /// # Errors
    /// When a variable is missing or malformed, or `AWS_CA_BUNDLE` names a file that cannot be
    /// used.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let (keys, idempotency) = (env_var("API_KEYS_TABLE")?, env_var("IDEMPOTENCY_TABLE")?);
        let (table, rejected) = (
            env_var("SIGNALS_TABLE")?,
            env_var("REJECTED_SIGNALS_TABLE")?,
        );
        let days = env_u64("SIGNAL_RETENTION_DAYS")?;
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let config = sdk_config()?;
        let client = dynamodb(&config);
        let storage = Storage {
            idempotency: IdempotencyTable::new(client.clone(), idempotency),
            signals: SignalsTable::new(client.clone(), table, retention),
            rejected: RejectedSignalsTable::new(client.clone(), rejected),
            overflow: optional_env_var("OVERFLOW_QUEUE_URL").map(|url| Queue::new(&config, url)),
        };
        Ok(Self::new(
            Authenticator::from_environment(ApiKeysTable::new(client, keys))?,
            storage,
        ))
    }

    /// The function with this authenticator and these tables.
    pub fn new(authenticator: Authenticator, storage: Storage) -> Self {
        Self {
            authenticator,
            storage,
        }
    }
}

impl Function for SignalsFunction {
    const ROUTES: &'static [Route] = &[Route {
        path: "/api/event-flows/signal",
        methods: &["POST"],
    }];

    fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    async fn handle(
        &self,
        _: &Route,
        request: &Request,
        request_context: &mut RequestContext,
    ) -> Result<Success, Problem> {
        let key = self
            .authenticator
            .authenticate(request.headers(), request_context)
            .await?;
        authorize(&key, Endpoint::Signals)?;
        let body = read_body(request, request_context)?;
        let batch = Batch::parse(JsonText::parse(&body)?)?;
        request_context
            .request_identifier
            .clone_from(&batch.request_identifier);
        let request_identifier = batch
            .request_identifier
            .clone()
            .unwrap_or_else(RequestIdentifier::random);
        if !batch.rejected.is_empty() && prefers_strict_handling(request.headers()) {
            return Err(Problem::batch_rejected(BatchResponse::new(
                batch,
                &request_identifier,
                StoredBatch::default(),
            )));
        }
        let batch_context = BatchContext {
            account_id: &key.account_id,
            key_id: &key.key_id,
            request_identifier: &request_identifier,
            received_at: request_context.received_at,
            request_id: &request_context.request_id,
        };
        let hashes = RequestHashes::of(&body, &batch);
        let mut received = ReceivedBatch {
            batch,
            hashes,
            context: batch_context,
            request_context,
        };
        let stored = self.storage.store(&mut received).await?;
        let response = BatchResponse::new(received.batch, &request_identifier, stored);
        if response.counts.accepted == 0 {
            Err(Problem::batch_rejected(response))
        } else {
            Ok(Success::Batch(response))
        }
    }
}
