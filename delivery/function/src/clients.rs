//! What the clients of both targets have in common.

use std::time::Duration;

use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_types::error::metadata::ProvideErrorMetadata as _;
use aws_smithy_types::retry::RetryConfig;
use model::deadline::Deadline;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service::config::ConfigError;
use store::client::{Client, Limits, Service};
use store::deadline::before;
use store::s3::S3Error;
use store::{environment, error};

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
    /// Why.
    pub(crate) cause: Cause,
}

/// Why a call failed, or a target did not take an event. The log shows it, so it is never a message, which may contain an
/// event.
#[derive(Debug, Deserialize, thiserror::Error)]
#[serde(from = "String")]
pub(crate) enum Cause {
    /// The call failed, or the target returned another code.
    #[error(transparent)]
    Call(#[from] error::Cause),
    /// The request could not be written or signed.
    #[error("RequestError")]
    RequestError,
    /// An error without a code.
    #[error("HTTP {0}")]
    Status(u16),
    /// The failure bucket did not take a record.
    #[error(transparent)]
    Bucket(S3Error),
    /// `EventBridge` will never take this event. Other errors can pass, or be mended by the operator.
    #[error("MalformedDetail")]
    MalformedDetail,
}

impl From<String> for Cause {
    fn from(code: String) -> Self {
        match code.as_str() {
            "MalformedDetail" => Self::MalformedDetail,
            _ => Self::Call(error::Cause::Other(code)),
        }
    }
}

/// Calls `operation` and parses the response, until `deadline`.
pub(crate) async fn call<T: DeserializeOwned>(
    client: &Client,
    operation: &'static str,
    request: &impl Serialize,
    deadline: Deadline,
) -> Result<T, Cause> {
    let body = serde_json::to_vec(request).map_err(|_| Cause::RequestError)?;
    match before(deadline, client.send(operation, body)).await {
        Ok(Ok(response)) => Ok(serde_json::from_slice(&response).map_err(|_| error::Cause::ResponseError)?),
        Err(_) => Err(error::Cause::DeadlineExceeded.into()),
        Ok(Err(failed)) => Err(match error::Cause::of_transport(failed) {
            Ok(cause) => cause.into(),
            Err(refused) => match refused.err().code() {
                Some(code) => Cause::from(code.to_owned()),
                None => Cause::Status(refused.raw().status().as_u16()),
            },
        }),
    }
}
