//! The clients of the functions: credentials, region and endpoint from the variables that Lambda sets.
//!
//! The variables are read here because the loader of `aws-config` links profiles, metadata services and assumed roles, which
//! a function does not use.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime_api::client::http::{SharedHttpClient, SharedHttpConnector};
use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_types::retry::RetryConfig;

use crate::call_stats::CallStatsInterceptor;
use crate::client::{Client, Connection, Limits, Service};
use crate::s3::{self, S3Connection};
use crate::throttling::{BACKOFF_BASE, BACKOFF_CAP};
use crate::tls::{self, CaBundleError};
use crate::xray::SubsegmentInterceptor;
use crate::{endpoint, http};

/// How long connecting may take. Inside a region it takes a few milliseconds, or never succeeds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long one attempt of a call to DynamoDB may take. DynamoDB responds within tens of milliseconds even at its slowest
/// percentiles, so a retry on another connection is better than a longer wait.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Attempts per call, including the first.
const MAX_ATTEMPTS: u32 = 4;

/// Retries that a process may make before calls succeed again. A call that succeeds after a retry returns its tokens, and
/// five calls that succeed at once return one retry: 10 % of failing calls never exhaust the budget, and an outage is not
/// amplified. The budget is enough for every connection of a request to have dropped while the environment was frozen.
const RETRY_BUDGET: u32 = 20;

/// The cost of one retry of anything but throttling, in the SDK's tokens; a success returns one token.
const RETRY_COST: u32 = 5;

/// The tokens of the retry budget.
const RETRY_TOKENS: u32 = RETRY_BUDGET * RETRY_COST;

/// `DynamoDB`.
pub const DYNAMODB: Service = Service {
    name: "dynamodb",
    target: "DynamoDB_20120810",
    content_type: "application/x-amz-json-1.0",
    endpoint_variable: "AWS_ENDPOINT_URL_DYNAMODB",
    interceptors: || {
        let counted = SharedInterceptor::permanent(CallStatsInterceptor);
        let traced = SubsegmentInterceptor::from_environment().map(SharedInterceptor::permanent);
        [counted].into_iter().chain(traced).collect()
    },
};

/// Why the environment allows no client.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable is missing.
    #[error("the environment variable {0} is missing")]
    Variable(&'static str),
    /// The file of certificate authorities cannot be used.
    #[error(transparent)]
    CaBundle(#[from] CaBundleError),
}

/// The client of DynamoDB.
///
/// # Errors
/// As [`client`].
pub fn dynamodb() -> Result<Client, EnvironmentError> {
    client(DYNAMODB, dynamodb_limits())
}

/// A client of `service`. Beside credentials and region, it reads the variable of the service's endpoint or
/// `AWS_ENDPOINT_URL`, and `AWS_USE_FIPS_ENDPOINT` and `AWS_USE_DUALSTACK_ENDPOINT` for the regions that need them (AWS SDKs
/// and Tools Reference Guide).
///
/// # Errors
/// When a variable is missing, or [`http_client`] fails.
pub fn client(service: Service, limits: Limits) -> Result<Client, EnvironmentError> {
    let region = region()?;
    let truth = |name| variable(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let endpoint = configured_endpoint(service.endpoint_variable).unwrap_or_else(|| {
        endpoint::url(service.name, &region, truth("AWS_USE_FIPS_ENDPOINT"), truth("AWS_USE_DUALSTACK_ENDPOINT"))
    });
    let credentials = SharedCredentialsProvider::new(credentials()?);
    let connection = Connection { http_client: http_client(CONNECT_TIMEOUT)?, endpoint, region, credentials };
    Ok(Client::new(service, connection, limits))
}

/// How S3 is reached.
///
/// # Errors
/// As [`client`].
pub fn s3() -> Result<S3Connection, EnvironmentError> {
    Ok(S3Connection {
        endpoint: configured_endpoint(s3::ENDPOINT_VARIABLE),
        region: region()?,
        credentials: SharedCredentialsProvider::new(credentials()?),
        connector: http_connector(CONNECT_TIMEOUT)?,
    })
}

/// The credentials: those of the function's role, which last as long as its environment.
///
/// # Errors
/// When a variable is missing.
pub fn credentials() -> Result<Credentials, EnvironmentError> {
    let required = |name| variable(name).ok_or(EnvironmentError::Variable(name));
    let (id, secret) = (required("AWS_ACCESS_KEY_ID")?, required("AWS_SECRET_ACCESS_KEY")?);
    Ok(Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "environment"))
}

/// The region.
///
/// # Errors
/// When no variable names it.
pub fn region() -> Result<String, EnvironmentError> {
    ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(variable).ok_or(EnvironmentError::Variable("AWS_REGION"))
}

/// The endpoint that the operator set for a service, by its variable, or for all services.
pub fn configured_endpoint(endpoint_variable: &str) -> Option<String> {
    [endpoint_variable, "AWS_ENDPOINT_URL"].into_iter().find_map(variable)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The timeouts and retries of a function's calls to DynamoDB.
pub fn dynamodb_limits() -> Limits {
    let budget = TokenBucket::builder()
        .capacity(usize::try_from(RETRY_TOKENS).unwrap_or(usize::MAX))
        .retry_cost(RETRY_COST)
        .timeout_retry_cost(RETRY_COST)
        // More than there are: the SDK never retries a throttled call. The store waits instead, without tokens and until the
        // deadline.
        .throttling_retry_cost(RETRY_TOKENS + 1);
    Limits { attempt_timeout: ATTEMPT_TIMEOUT, retries: retries(MAX_ATTEMPTS), budget: budget.build() }
}

/// So many attempts, with waits that suit a service in the same region.
pub fn retries(max_attempts: u32) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(max_attempts)
        // The SDK's default of one second delays a retry, which usually succeeds, by half a second.
        .with_initial_backoff(BACKOFF_BASE)
        .with_max_backoff(BACKOFF_CAP)
}

/// The HTTP client of this service, which waits at most `connect_timeout` for a connection.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_client(connect_timeout: Duration) -> Result<SharedHttpClient, CaBundleError> {
    Ok(http::client(http_connector(connect_timeout)?))
}

/// The connections of such a client, for a request that no SDK makes.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_connector(connect_timeout: Duration) -> Result<SharedHttpConnector, CaBundleError> {
    Ok(http::connector(tls::client_config()?, connect_timeout))
}
