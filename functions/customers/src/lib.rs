//! `POST` and `PATCH /api/customers`, and `GET /api/sdk/ping`.
//!
//! This crate has the order of the steps; each step is in [`model`], [`store`] or [`service`].

use lambda_http::Request;
use model::api_key::Endpoint;
use model::customer::CustomerUpdate;
use model::json::JsonText;
use service::auth::{Authenticator, authorize};
use service::context::RequestContext;
use service::problem::Problem;
use service::request::read_body;
use service::route::Route;
use service::runtime::Function;
use service::success::{CustomerResponse, Success};
use store::api_keys::ApiKeysTable;
use store::client::dynamodb;
use store::customers::{CustomersTable, UpsertOutcome};
use store::deadline::WRITE_TIMEOUT;
use store::environment::{ConfigError, env_var, sdk_config};
use store::patience::{Patience, PatienceEnds};

const CUSTOMERS: Route = Route { path: "/api/customers", methods: &["PATCH", "POST"] };
const PING: Route = Route { path: "/api/sdk/ping", methods: &["GET"] };

/// The function: its authenticator and its table.
#[derive(Debug)]
pub struct CustomersFunction {
    authenticator: Authenticator,
    table: CustomersTable,
}

impl CustomersFunction {
    /// The function with the tables that the environment variables name.
    ///
    /// # Errors
    /// When a variable is missing, or `AWS_CA_BUNDLE` names a file that cannot be used.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let (keys, table) = (env_var("API_KEYS_TABLE")?, env_var("CUSTOMERS_TABLE")?);
        let client = dynamodb(&sdk_config()?);
        let authenticator = Authenticator::from_environment(ApiKeysTable::new(client.clone(), keys))?;
        Ok(Self::new(authenticator, CustomersTable::new(client, table)))
    }

    /// The function with this authenticator and this table.
    pub fn new(authenticator: Authenticator, table: CustomersTable) -> Self {
        Self { authenticator, table }
    }
}

impl Function for CustomersFunction {
    const ROUTES: &'static [Route] = &[CUSTOMERS, PING];

    fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    async fn handle(&self, route: &Route, request: &Request, context: &mut RequestContext) -> Result<Success, Problem> {
        let key = self.authenticator.authenticate(request.headers(), context).await?;
        if *route == PING {
            return Ok(Success::Pong);
        }
        authorize(&key, Endpoint::Customers)?;
        let body = read_body(request, context)?;
        let update = CustomerUpdate::parse(JsonText::parse(&body)?)?;
        let deadline = context.deadline.at_most(WRITE_TIMEOUT);
        let patience = Patience { deadline, ends: PatienceEnds::WhenThrottled };
        let upserted = self.table.upsert(&key.account_id, &update, context.received_at, patience).await;
        let UpsertOutcome { result, updated_at } = upserted.map_err(Problem::from_upsert)?;
        Ok(Success::Customer(CustomerResponse {
            customer_id: update.customer_id().to_owned(),
            result,
            updated_at,
            warnings: update.warnings().to_vec(),
        }))
    }
}
