//! `POST` and `PATCH /api/customers`, and `GET /api/sdk/ping`.
//!
//! This crate has the order of the steps and the endpoint's own responses; each step is in [`model`],
//! [`store`] or [`service`]. It must not know the fields of a profile, how an item is written, or
//! what Lambda sends. Its tests send requests over an emulator: `tests/integration`, for example
//! `customers.rs`.

pub mod customers_metrics;
mod customers_outcome;
pub mod customers_problems;

use aws::connectors::Connectors;
use aws::deadline::Deadline;
use aws::dynamodb::dynamodb;
use aws::sdk_config::sdk_config;
use aws::sqs::Queue;
use aws::variables::{ConfigError, Variables};
use lambda_http::Request;
use model::api_key::Endpoint;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use model::key_entry::KeyEntry;
use service::auth::{Authenticator, authorize};
use service::body::read_body;
use service::context::RequestContext;
use service::outcome::Failure;
use service::problem::Problem;
use service::route::Route;
use service::runtime::http::HttpFunction;
use store::api_keys::ApiKeysTable;
use store::customers::{CustomersTable, NewerField, Upsert};
use store::error::StoreError;
use store::fence::UpdateMark;
use store::overflow_messages;

use self::customers_outcome::Pong;
pub use self::customers_outcome::{CustomerResponse, CustomerResult, CustomersOutcome};

const CUSTOMERS: Route = Route {
    path: "/api/customers",
    methods: &["PATCH", "POST"],
};
const PING: Route = Route {
    path: "/api/sdk/ping",
    methods: &["GET", "HEAD"],
};

/// The function: its authenticator, its table and its queue.
#[derive(Debug)]
pub struct CustomersFunction {
    authenticator: Authenticator,
    table: CustomersTable,
    overflow_queue: Queue,
}

impl CustomersFunction {
    /// The function with the tables and the overflow queue that the variables name.
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
        let keys = variables.required(ApiKeysTable::VARIABLE)?;
        let table = variables.required(CustomersTable::VARIABLE)?;
        let overflow_url = variables.required(overflow_messages::QUEUE_VARIABLE)?;
        let client = dynamodb(&sdk_config(variables, &connectors.dynamodb)?);
        let sqs = sdk_config(variables, &connectors.sqs)?;
        let keys = ApiKeysTable::new(client.clone(), keys);
        Ok(Self {
            authenticator: Authenticator::from_variables(keys, variables, connectors)?,
            table: CustomersTable::new(client, table),
            overflow_queue: Queue::new(&sqs, overflow_url),
        })
    }

    /// Queues an update that DynamoDB did not acknowledge. Returns whether the queue acknowledged
    /// it.
    async fn defer(
        &self,
        key: &KeyEntry,
        update: &CustomerUpdate<'_>,
        mark: UpdateMark,
        deadline: Deadline,
    ) -> bool {
        let message = overflow_messages::update_message(&key.account_id, &key.key_id, mark, update);
        let sent = self
            .overflow_queue
            .send_all(vec![message], &key.account_id, deadline)
            .await;
        if let Err(error) = &sent {
            tracing::error!(%error, "the overflow queue did not accept an update of a customer");
        }
        sent.is_ok()
    }
}

impl HttpFunction for CustomersFunction {
    type Outcome = CustomersOutcome;

    const ROUTES: &'static [Route] = &[CUSTOMERS, PING];

    fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    async fn handle(
        &self,
        route: &Route,
        request: &Request,
        context: &mut RequestContext,
    ) -> Result<CustomersOutcome, Failure<CustomersOutcome>> {
        let key = self
            .authenticator
            .authenticate(request.headers(), context)
            .await?;
        if *route == PING {
            return Ok(CustomersOutcome::Pong(Pong::BODY));
        }
        authorize(&key, Endpoint::Customers)?;
        let body = read_body(request, context)?;
        let json = JsonText::parse(&body).map_err(Problem::from)?;
        let update = CustomerUpdate::parse(json).map_err(Problem::from)?;
        let mark = UpdateMark::new(context.received_at);
        let upsert = Upsert {
            account_id: &key.account_id,
            update: &update,
            mark,
            newer_field: NewerField::Replace,
            now: context.received_at,
        };
        let (result, updated_at) = match self.table.upsert(upsert, context.budget.writes()).await {
            Ok(upserted) if upserted.is_new => (CustomerResult::Created, upserted.updated_at),
            Ok(upserted) => (CustomerResult::Updated, upserted.updated_at),
            Err(error @ StoreError::Unavailable(_)) => {
                let is_queued = self
                    .defer(&key, &update, mark, context.budget.queue())
                    .await;
                if !is_queued {
                    return Err(Problem::from(error).into());
                }
                (CustomerResult::Deferred(error.into()), mark.updated_at())
            }
            Err(error) => return Err(customers_problems::from_upsert(error).into()),
        };
        Ok(CustomersOutcome::Customer(CustomerResponse {
            customer_id: update.customer_id().to_owned(),
            result,
            updated_at,
            warnings: update.warnings().to_vec(),
        }))
    }
}
