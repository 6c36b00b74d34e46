//! `POST /api/event-flows/signal`.
//!
//! This crate has the order of the steps and the endpoint's own answers; each step is in [`model`],
//! [`store`] or [`service`]. It must not know the text of a signal, how an item is written, or
//! what Lambda sends. Its tests send requests over an emulator: `tests/integration`, for example
//! `idempotency.rs` and `rejected_signals.rs`.

mod ignored_headers;
mod log;
pub mod metric;
mod outcome;
pub mod problem;
mod store_batch;

use std::time::Duration;

use aws::dynamodb::{UNRESPONSIVE_TIMEOUT, dynamodb};
use aws::queue::Queue;
use aws::sdk_config::{connector, sdk_config};
use aws::variables::{ConfigError, Variables};
use lambda_http::Request;
use model::api_key::Endpoint;
use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use service::auth::{Authenticator, authorize};
use service::body::read_body;
use service::context::RequestContext;
use service::outcome::Failure;
use service::prefer::Handling;
use service::problem::Problem;
use service::route::Route;
use service::runtime::http::HttpFunction;
use store::api_keys::ApiKeysTable;
use store::batch_pipeline::BatchTables;
use store::idempotency::{IdempotencyTable, RequestHashes};
use store::overflow_messages;
use store::rejected_signals::RejectedSignalsTable;
use store::signals::SignalsTable;

pub use self::outcome::{BatchCounts, BatchOutcome, BatchResponse, SignalVerdict};
pub use self::store_batch::BatchStorage;
use self::store_batch::{BatchRequest, StoredBatch};

/// The function: its authenticator, its tables and its queue.
#[derive(Debug)]
pub struct SignalsFunction {
    authenticator: Authenticator,
    storage: BatchStorage,
    generate_identifier: fn() -> RequestIdentifier,
}

impl SignalsFunction {
    /// The function with the tables and the overflow queue that the variables name.
    ///
    /// # Errors
    /// When a variable is missing or malformed, or `AWS_CA_BUNDLE` names a file that cannot be
    /// used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let keys = variables.required(ApiKeysTable::VARIABLE)?;
        let idempotency = variables.required(IdempotencyTable::VARIABLE)?;
        let signals = variables.required(SignalsTable::VARIABLE)?;
        let rejected = variables.required(RejectedSignalsTable::VARIABLE)?;
        let days = variables.whole_number(SignalsTable::RETENTION_VARIABLE)?;
        let retention = (days > 0).then(|| Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
        let overflow_url = variables.required(overflow_messages::QUEUE_VARIABLE)?;
        let connector = connector(variables, UNRESPONSIVE_TIMEOUT)?;
        let config = sdk_config(variables, &connector)?;
        let client = dynamodb(&config);
        let storage = BatchStorage {
            tables: BatchTables {
                idempotency: IdempotencyTable::new(client.clone(), idempotency),
                signals: SignalsTable::new(client.clone(), signals, retention),
                rejected: RejectedSignalsTable::new(client.clone(), rejected),
            },
            overflow_queue: Queue::from_variables(variables, overflow_url)?,
        };
        let keys = ApiKeysTable::new(client, keys);
        let authenticator = Authenticator::from_variables(keys, variables)?;
        Ok(Self::new(authenticator, storage, RequestIdentifier::random))
    }

    /// The function with this authenticator and these tables. A request without a requestIdentifier
    /// gets one of `generate_identifier`, which a stranger must not be able to guess.
    pub fn new(
        authenticator: Authenticator,
        storage: BatchStorage,
        generate_identifier: fn() -> RequestIdentifier,
    ) -> Self {
        Self {
            authenticator,
            storage,
            generate_identifier,
        }
    }
}

impl HttpFunction for SignalsFunction {
    type Outcome = BatchOutcome;

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
    ) -> Result<BatchOutcome, Failure<BatchOutcome>> {
        let key = self
            .authenticator
            .authenticate(request.headers(), request_context)
            .await?;
        authorize(&key, Endpoint::Signals)?;
        let body = read_body(request, request_context)?;
        let json = JsonText::parse(&body).map_err(Problem::from)?;
        let mut batch = Batch::parse(json).map_err(problem::from_batch)?;
        let handling = Handling::read(request.headers());
        ignored_headers::add_warnings(request.headers(), handling, &mut batch);
        request_context
            .request_identifier
            .clone_from(&batch.request_identifier);
        let request_identifier = batch
            .request_identifier
            .clone()
            .unwrap_or_else(self.generate_identifier);
        if !batch.rejected.is_empty() && handling == Handling::Strict {
            // Not even the rejected signals are kept.
            return Err(BatchOutcome::rejected(batch, &request_identifier, None));
        }
        let hashes = RequestHashes::new(&body, &batch);
        let batch_request = BatchRequest {
            hashes: &hashes,
            request_identifier: &request_identifier,
            key: &key,
            request_context,
        };
        let stored = self.storage.store(batch, batch_request).await?;
        if stored.batch.signals.is_empty() {
            let StoredBatch {
                batch,
                unstored_reason,
                ..
            } = stored;
            return Err(BatchOutcome::rejected(
                batch,
                &request_identifier,
                unstored_reason,
            ));
        }
        Ok(BatchOutcome::accepted(stored, &request_identifier))
    }
}
