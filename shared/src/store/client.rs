//! The client: where DynamoDB is, how long a call may take, and how often it is tried.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Builder, SharedHttpClient, StalledStreamProtectionConfig};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use super::trust::{self, BadBundle};
use crate::telemetry::tally::CountCalls;

/// A connection inside a region is there within a few milliseconds, or not at all.
const CONNECT: Duration = Duration::from_secs(1);

/// DynamoDB answers within tens of milliseconds even at its slowest percentiles. One that takes longer than this is
/// better asked again, on another connection.
const ATTEMPT: Duration = Duration::from_millis(2_500);

/// How often a call is tried, the first included.
const ATTEMPTS: u32 = 4;

/// The base of the SDK's exponential backoff with jitter. Its default of one second makes a transient fault, which the
/// next attempt usually does not meet, cost half a second.
const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest wait between two attempts.
const BACKOFF_LONGEST: Duration = Duration::from_secs(1);

/// A client as the functions use it: credentials and region from the variables that Lambda sets, nothing else looked
/// for. `AWS_ENDPOINT_URL_DYNAMODB` points it elsewhere.
///
/// # Errors
/// As [`http_client`].
pub async fn from_environment() -> Result<Client, BadBundle> {
    let shared = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client()?)
        .credentials_provider(EnvironmentVariableCredentialsProvider::new())
        .region(EnvironmentVariableRegionProvider::new())
        .load()
        .await;
    Ok(Client::from_conf(tuned(Builder::from(&shared)).build()))
}

/// `config` with the timeouts and retries of this service, its calls counted.
#[must_use]
pub fn tuned(config: Builder) -> Builder {
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(BACKOFF_BASE)
        .with_max_backoff(BACKOFF_LONGEST);
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ATTEMPT).build();
    config
        .retry_config(retries)
        .timeout_config(timeouts)
        // Watches bodies that arrive slowly; here an attempt is over in time, body included, or it is given up.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(CountCalls)
}

/// HTTP over rustls with `ring`: the SDK's default gathers entropy for a hundred times the instructions of a whole
/// cold start.
///
/// # Errors
/// When `AWS_CA_BUNDLE` names a file that cannot be used.
pub fn http_client() -> Result<SharedHttpClient, BadBundle> {
    let builder = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring));
    Ok(builder.tls_context(trust::context()?).build_https())
}
