//! `POST` and `PATCH /api/customers`, and `GET /api/sdk/ping`: the story of one request.
//!
//! Steps are put in order here; how each is done is in [`model`], [`store`] and [`service`].

use lambda_http::{Body, Request, Response};
use model::customer::CustomerUpdate;
use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode, Warning};
use serde::Serialize;
use service::auth::Authenticator;
use service::config::{self, ConfigError};
use service::invocation::Invocation;
use service::problem::Problem;
use service::request::{self, Route};
use service::response::{self, Answer};
use service::telemetry::request_log::RequestLog;
use store::api_keys::ApiKeysTable;
use store::client;
use store::customers::{UpsertOutcome, UpsertResult};
use store::{StoreError, WRITE_TIMEOUT};

const CUSTOMERS: Route = Route { path: "/api/customers", methods: &["PATCH", "POST"] };
const PING: Route = Route { path: "/api/sdk/ping", methods: &["GET"] };

/// The paths that this function answers.
pub const ROUTES: &[Route] = &[CUSTOMERS, PING];

/// The function: whose requests it may do, and where customers are.
#[derive(Debug)]
pub struct CustomersFunction {
    authenticator: Authenticator,
    table: store::customers::CustomersTable,
}

impl CustomersFunction {
    /// The function as its environment describes it.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub async fn from_environment() -> Result<Self, ConfigError> {
        let (keys, table) = (config::env_var("API_KEYS_TABLE")?, config::env_var("CUSTOMERS_TABLE")?);
        let client = client::from_environment().await?;
        Ok(Self::new(ApiKeysTable::new(client.clone(), keys), store::customers::CustomersTable::new(client, table)))
    }

    /// The function over these tables.
    #[must_use]
    pub fn new(keys: ApiKeysTable, table: store::customers::CustomersTable) -> Self {
        Self { authenticator: Authenticator::new(keys), table }
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
        if *route == PING {
            return Ok(Answer::json(&Pong { response: "pong" }));
        }
        let body = request::read_body(request)?;
        record.bytes(body.len());
        let update = CustomerUpdate::parse(request::parse_json(&body)?).map_err(Problem::ValidationFailed)?;
        let deadline = invocation.deadline.min(WRITE_TIMEOUT);
        let upserted = self.table.upsert(&caller.account_id, &update, invocation.received_at, deadline).await;
        let UpsertOutcome { result, updated_at } = upserted.map_err(problem)?;
        record.customer(result);
        Ok(Answer::json(&Stored {
            customer_id: &update.customer_id,
            result,
            updated_at: updated_at.to_string(),
            warnings: &update.warnings,
        }))
    }
}

#[derive(Serialize)]
struct Pong {
    response: &'static str,
}

/// The body of a 200.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored<'a> {
    customer_id: &'a str,
    result: UpsertResult,
    updated_at: String,
    warnings: &'a [Warning],
}

fn problem(error: StoreError) -> Problem {
    match error {
        StoreError::ItemTooLarge => Problem::CustomerTooLarge,
        // Every documented rule of DynamoDB was checked. What it finds invalid all the same is the caller's data, so it is
        // the caller who hears of it; the operator finds it here.
        StoreError::Invalid => {
            tracing::error!(%error, "DynamoDB refused a customer that passed every check");
            let data = JsonPointer::Member(&JsonPointer::Root, "customerData");
            Problem::ValidationFailed(vec![FieldError::new(
                &data,
                FieldErrorCode::RefusedByStore,
                "was refused by the database",
            )])
        }
        StoreError::Corrupt => Problem::defect(&error),
        error @ StoreError::Unavailable(_) => Problem::StorageUnavailable { error, retry_identifier: None },
    }
}
