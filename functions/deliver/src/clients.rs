//! What the clients of both targets have in common.

use std::time::Duration;

use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata as _;
use aws_smithy_types::retry::RetryConfig;
use model::deadline::Deadline;
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::config::ConfigError;
use store::client::{Client, Limits, Service};
use store::deadline::before;
use store::environment;

/// How long one attempt of a call may take: the largest is 4 MB.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bound of the wait before the first retry, instead of the SDK's one second.
const BACKOFF_BASE: Duration = Duration::from_millis(100);

/// A client of `service`.
pub(crate) fn client(service: Service) -> Result<Client, ConfigError> {
    let retries = RetryConfig::standard().with_initial_backoff(BACKOFF_BASE);
    let limits = Limits { attempt_timeout: ATTEMPT_TIMEOUT, retries, budget: TokenBucket::default() };
    Ok(environment::client(service, limits)?)
}

/// The first event that a target did not take. It may have taken later ones.
#[derive(Debug)]
pub(crate) struct Undelivered {
    /// Its position.
    pub(crate) position: usize,
    /// Why: a code, since a message may contain an event.
    pub(crate) cause: String,
}

/// Calls `operation` and parses the response, until `deadline`. An error is the code of its cause.
pub(crate) async fn call<T: DeserializeOwned>(
    client: &Client,
    operation: &'static str,
    request: &impl Serialize,
    deadline: Deadline,
) -> Result<T, String> {
    let body = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    let sent = before(deadline, client.send(operation, body)).await;
    let cause = match &sent {
        Ok(Ok(response)) => return serde_json::from_slice(response).map_err(|_| "ResponseError".to_owned()),
        Err(_) => "DeadlineExceeded",
        Ok(Err(SdkError::TimeoutError(_))) => "Timeout",
        Ok(Err(SdkError::DispatchFailure(_))) => "DispatchFailure",
        Ok(Err(SdkError::ServiceError(error))) => error.err().code().unwrap_or("ServerError"),
        Ok(Err(_)) => "ResponseError",
    };
    Err(cause.to_owned())
}
