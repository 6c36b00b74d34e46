//! What the clients of all targets have in common.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_eventbridge::config::SharedCredentialsProvider;
use aws_sdk_eventbridge::error::{ProvideErrorMetadata, SdkError};
use model::deadline::Deadline;
use store::client::{CONNECT_TIMEOUT, Environment, http_client};
use store::tls::CaBundleError;

/// How long one attempt of a call may take: the largest is 4 MB.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bound of the wait before the first retry, instead of the SDK's one second.
const BACKOFF_BASE: Duration = Duration::from_millis(100);

/// The configuration of the client of a service, by its endpoint variable. Credentials and region are those of the variables
/// that Lambda sets.
pub(crate) async fn config(endpoint_variable: &str) -> Result<SdkConfig, CaBundleError> {
    let Environment { endpoint, region, fips, dual_stack } = Environment::of_service(endpoint_variable).await;
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http_client(CONNECT_TIMEOUT)?)
        .credentials_provider(SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new()))
        .region(region)
        .retry_config(RetryConfig::standard().with_initial_backoff(BACKOFF_BASE))
        .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build())
        // It detects slow bodies; here the attempt timeout covers the body.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    config.set_endpoint_url(endpoint).set_use_fips(fips).set_use_dual_stack(dual_stack);
    Ok(config.build())
}

/// The first event that a target did not take. It may have taken later ones.
#[derive(Debug)]
pub(crate) struct Undelivered {
    /// Its position.
    pub(crate) position: usize,
    /// Why: a code, since a message may contain an event.
    pub(crate) cause: String,
}

/// Runs a call until `deadline`. An error is the code of its cause.
pub(crate) async fn call<T, E: ProvideErrorMetadata, R>(
    deadline: Deadline,
    sent: impl Future<Output = Result<T, SdkError<E, R>>>,
) -> Result<T, String> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    match tokio::time::timeout_at(deadline.until().into(), Box::pin(sent)).await {
        Err(_) => Err("DeadlineExceeded".to_owned()),
        Ok(Ok(output)) => Ok(output),
        Ok(Err(SdkError::TimeoutError(_))) => Err("Timeout".to_owned()),
        Ok(Err(SdkError::DispatchFailure(_))) => Err("DispatchFailure".to_owned()),
        Ok(Err(SdkError::ServiceError(error))) => Err(error.err().meta().code().unwrap_or("ServerError").to_owned()),
        Ok(Err(_)) => Err("ResponseError".to_owned()),
    }
}
