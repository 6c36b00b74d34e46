//! The client: where DynamoDB is, how long a call may take, and how often it is tried.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::region::ProvideRegion as _;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition, TokenBucket};
use aws_sdk_dynamodb::config::{Builder, SharedHttpClient, StalledStreamProtectionConfig};

use crate::call_stats::CallStatsInterceptor;
use crate::http;
use crate::throttling::{BACKOFF_BASE, BACKOFF_CAP};
use crate::tls::{self, CaBundleError};

/// A connection inside a region is there within a few milliseconds, or not at all.
pub const CONNECT: Duration = Duration::from_secs(1);

/// DynamoDB answers within tens of milliseconds even at its slowest percentiles. One that takes longer than this is
/// better asked again, on another connection.
const ATTEMPT: Duration = Duration::from_millis(2_500);

/// How often a call is tried, the first included.
const ATTEMPTS: u32 = 4;

/// How many tries beyond the first a process has in hand. A call that succeeds after all gives back what it took, and five
/// calls that succeed at once give one back: so 10 % of faults cost nothing, and an outage is not multiplied. It is enough
/// for every connection of a request to have died with a frozen environment.
const RETRY_BUDGET: u32 = 20;

/// What one of them costs, whatever the fault but throttling, in the SDK's tokens; a success gives back one token.
const RETRY_COST: u32 = 5;

/// The tokens of the retry budget.
const RETRY_TOKENS: u32 = RETRY_BUDGET * RETRY_COST;

/// A client as the functions use it: credentials and region from the variables that Lambda sets, nothing else looked
/// for. `AWS_ENDPOINT_URL_DYNAMODB` or `AWS_ENDPOINT_URL` points it elsewhere; `AWS_USE_FIPS_ENDPOINT` and
/// `AWS_USE_DUALSTACK_ENDPOINT` are for the regions that need them (AWS SDKs and Tools Reference Guide).
///
/// The variables are read here because the loader of `aws-config` is linked with profiles, metadata services and
/// assumed roles, none of which a function has.
///
/// # Errors
/// As [`http_client`].
pub async fn from_environment() -> Result<Client, CaBundleError> {
    let endpoint = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"].into_iter().find_map(variable);
    let truth = |name| variable(name).map(|value| value.eq_ignore_ascii_case("true"));
    let mut config = Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client(CONNECT)?)
        .credentials_provider(EnvironmentVariableCredentialsProvider::new())
        .region(EnvironmentVariableRegionProvider::new().region().await);
    config
        .set_endpoint_url(endpoint)
        .set_use_fips(truth("AWS_USE_FIPS_ENDPOINT"))
        .set_use_dual_stack(truth("AWS_USE_DUALSTACK_ENDPOINT"));
    Ok(Client::from_conf(tuned(config).build()))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `config` with the timeouts and retries of this service, its calls counted.
#[must_use]
pub fn tuned(config: Builder) -> Builder {
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        // The SDK's default of one second makes a transient fault, which the next attempt usually does not meet, cost half
        // a second.
        .with_initial_backoff(BACKOFF_BASE)
        .with_max_backoff(BACKOFF_CAP);
    let tokens = TokenBucket::builder()
        .capacity(usize::try_from(RETRY_TOKENS).unwrap_or(usize::MAX))
        .retry_cost(RETRY_COST)
        .timeout_retry_cost(RETRY_COST)
        // More than there are: the SDK never retries a throttled call. The store waits throttling out itself, which costs no
        // token and has no bound but the deadline.
        .throttling_retry_cost(RETRY_TOKENS + 1);
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).build();
    config
        .retry_config(retries)
        .retry_partition(RetryPartition::custom("intake").token_bucket(tokens.build()).build())
        .timeout_config(timeouts)
        // Watches bodies that arrive slowly; here an attempt is over in time, body included, or it is given up.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(CallStatsInterceptor)
}

/// The service's own HTTP client, which waits `connect_within` for a connection.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_client(connect_within: Duration) -> Result<SharedHttpClient, CaBundleError> {
    Ok(http::client(tls::client_config()?, connect_within))
}
