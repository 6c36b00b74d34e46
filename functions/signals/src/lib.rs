//! `POST /api/event-flows/signal`.
//!
//! This crate has the order of the steps and the endpoint's own responses; each step is in [`model`],
//! [`store`] or [`service`]. It must not know the text of a signal, how an item is written, or
//! what Lambda sends. Its tests send requests over an emulator: `tests/integration`, for example
//! `idempotency.rs` and `rejected_signals.rs`.

mod batch_outcome;
mod ignored_headers;
mod rejected_log;
pub mod signals_metrics;
pub mod signals_problems;
mod store_batch;

use aws::connectors::Connectors;
use aws::dynamodb::dynamodb;
use aws::sdk_config::sdk_config;
use aws::sqs::Queue;
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
use store::idempotency::RequestHashes;
use store::overflow_messages;
use store::signals::SignalsTable;

pub use self::batch_outcome::{BatchCounts, BatchOutcome, BatchResponse, SignalVerdict};
use self::store_batch::{BatchRequest, StoredBatch};

/// The function: its authenticator, its tables and its queue.
#[derive(Debug)]
pub struct SignalsFunction {
    authenticator: Authenticator,
    tables: BatchTables,
    /// Where signals go that DynamoDB does not acknowledge in time.
    overflow_queue: Queue,
    generate_identifier: fn() -> RequestIdentifier,
}

impl SignalsFunction {
    /// The function with the tables and the overflow queue that the variables name.
    ///
    /// # Errors
    /// When a variable is missing or malformed, or `AWS_CA_BUNDLE` names a file that cannot be
    /// used.
    pub fn from_variables(variables: &Variables) -> Result<Self, ConfigError> {
        let connectors = Connectors::from_variables(variables)?;
        Self::new(variables, &connectors, RequestIdentifier::random)
    }

    /// The same function with these connectors. A request without a requestIdentifier gets one of
    /// `generate_identifier`, which a stranger must not be able to guess.
    ///
    /// # Errors
    /// When a variable is missing or malformed.
    pub fn new(
        variables: &Variables,
        connectors: &Connectors,
        generate_identifier: fn() -> RequestIdentifier,
    ) -> Result<Self, ConfigError> {
        let keys = variables.required(ApiKeysTable::VARIABLE)?;
        let retention = SignalsTable::retention(variables)?;
        let overflow_url = variables.required(overflow_messages::QUEUE_VARIABLE)?;
        let client = dynamodb(&sdk_config(variables, &connectors.dynamodb)?);
        let sqs = sdk_config(variables, &connectors.sqs)?;
        let keys = ApiKeysTable::new(client.clone(), keys);
        Ok(Self {
            tables: BatchTables::from_variables(variables, &client, retention)?,
            overflow_queue: Queue::new(&sqs, overflow_url),
            authenticator: Authenticator::from_variables(keys, variables, connectors)?,
            generate_identifier,
        })
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
        let mut batch = Batch::parse(json).map_err(signals_problems::from_batch)?;
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
            // Not even the rejected signals are stored.
            return Err(BatchOutcome::rejected(batch, &request_identifier, None));
        }
        let hashes = RequestHashes::new(&body, &batch);
        let batch_request = BatchRequest {
            hashes: &hashes,
            request_identifier: &request_identifier,
            key: &key,
            request_context,
        };
        let stored = self.store(batch, batch_request).await?;
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
