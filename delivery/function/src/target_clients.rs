//! What the clients of the targets have in common: their configuration, and how a call is made.
//! This module must not know what a call sends.

use std::time::Duration;

use aws::call_error::{CallError, SdkFailure};
use aws::deadline::{Deadline, run_until};
use aws::sdk_config::{connector, sdk_config};
use aws::variables::{ConfigError, Variables};
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_eventbridge::config::http::HttpResponse;
use aws_sdk_eventbridge::error::{ProvideErrorMetadata, SdkError};

use crate::target_error::TargetError;

/// How long a call waits for a response before the connections to EventBridge and Firehose count as lost.
const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long one attempt of a call may take. The largest call has 4 MB.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bound of the wait before the first retry, instead of the SDK's one second.
const BACKOFF_BASE: Duration = Duration::from_millis(100);

/// The configuration of both clients. The SDK limits the retries of each service on its own.
pub(crate) fn config(variables: &Variables) -> Result<SdkConfig, ConfigError> {
    let retries = RetryConfig::standard().with_initial_backoff(BACKOFF_BASE);
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build();
    let connector = connector(variables, UNRESPONSIVE_TIMEOUT)?;
    let config = sdk_config(variables, &connector)?
        .into_builder()
        .retry_config(retries)
        .timeout_config(timeouts)
        .build();
    Ok(config)
}

/// Sends the request of a call, and waits for the response until `deadline`.
pub(crate) async fn call<T, E: ProvideErrorMetadata>(
    request: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    deadline: Deadline,
) -> Result<T, TargetError> {
    let Ok(result) = run_until(deadline, request).await else {
        return Err(CallError::DeadlineExceeded.into());
    };
    let error = match result {
        Ok(output) => return Ok(output),
        Err(error) => error,
    };
    match SdkFailure::from(&error) {
        SdkFailure::NotSent => Err(TargetError::RequestError),
        SdkFailure::Refused(refusal) => Err(TargetError::from_refusal(refusal)),
        SdkFailure::NoResponse(error) => Err(error.into()),
    }
}
