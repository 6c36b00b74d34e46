//! The DynamoDB client: endpoint, timeouts and retries.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::region::ProvideRegion as _;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition, TokenBucket};
use aws_sdk_dynamodb::config::{Builder, Region, SharedHttpClient, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;

use crate::call_stats::CallStatsInterceptor;
use crate::http;
use crate::lean_call::LeanCallInterceptor;
use crate::throttling::{BACKOFF_BASE, BACKOFF_CAP};
use crate::tls::{self, CaBundleError};
use crate::xray::SubsegmentInterceptor;

/// How long connecting may take. Inside a region it takes a few milliseconds, or never succeeds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long one attempt may take. DynamoDB responds within tens of milliseconds even at its slowest percentiles, so a retry
/// on another connection is better than a longer wait.
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

/// The client of the functions, with credentials and region from the variables that Lambda sets. It also reads
/// `AWS_ENDPOINT_URL_DYNAMODB` or `AWS_ENDPOINT_URL`, and `AWS_USE_FIPS_ENDPOINT` and `AWS_USE_DUALSTACK_ENDPOINT` for the
/// regions that need them (AWS SDKs and Tools Reference Guide).
///
/// The variables are read here because the loader of `aws-config` links profiles, metadata services and assumed roles,
/// which a function does not use.
///
/// # Errors
/// As [`http_client`].
pub async fn from_environment() -> Result<Client, CaBundleError> {
    let Environment { endpoint, region, fips, dual_stack } = Environment::of_service("AWS_ENDPOINT_URL_DYNAMODB").await;
    let mut config = Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client(CONNECT_TIMEOUT)?)
        .credentials_provider(EnvironmentVariableCredentialsProvider::new())
        .region(region);
    config.set_endpoint_url(endpoint).set_use_fips(fips).set_use_dual_stack(dual_stack);
    let config = tuned(config);
    let config = match SubsegmentInterceptor::from_environment() {
        Some(interceptor) => config.interceptor(interceptor),
        None => config,
    };
    Ok(Client::from_conf(config.build()))
}

/// What the SDK's variables say of the endpoint of a service.
#[derive(Clone, Debug)]
pub struct Environment {
    /// A URL of the operator's own.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<Region>,
    /// Whether the endpoint is one for FIPS 140.
    pub fips: Option<bool>,
    /// Whether the endpoint also has an IPv6 address.
    pub dual_stack: Option<bool>,
}

impl Environment {
    /// For the service with this endpoint variable.
    pub async fn of_service(endpoint_variable: &str) -> Self {
        let truth = |name| variable(name).map(|value| value.eq_ignore_ascii_case("true"));
        Self {
            endpoint: [endpoint_variable, "AWS_ENDPOINT_URL"].into_iter().find_map(variable),
            region: EnvironmentVariableRegionProvider::new().region().await,
            fips: truth("AWS_USE_FIPS_ENDPOINT"),
            dual_stack: truth("AWS_USE_DUALSTACK_ENDPOINT"),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `config` with the timeouts, retries and call statistics of this service.
pub fn tuned(config: Builder) -> Builder {
    let retries = RetryConfig::standard()
        .with_max_attempts(MAX_ATTEMPTS)
        // The SDK's default of one second delays a retry, which usually succeeds, by half a second.
        .with_initial_backoff(BACKOFF_BASE)
        .with_max_backoff(BACKOFF_CAP);
    let tokens = TokenBucket::builder()
        .capacity(usize::try_from(RETRY_TOKENS).unwrap_or(usize::MAX))
        .retry_cost(RETRY_COST)
        .timeout_retry_cost(RETRY_COST)
        // More than there are: the SDK never retries a throttled call. The store waits instead, without tokens and until the
        // deadline.
        .throttling_retry_cost(RETRY_TOKENS + 1);
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build();
    config
        .retry_config(retries)
        .retry_partition(RetryPartition::custom("intake").token_bucket(tokens.build()).build())
        .timeout_config(timeouts)
        // It detects slow bodies; here the attempt timeout covers the body.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(CallStatsInterceptor)
        .interceptor(LeanCallInterceptor)
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
