//! What the clients of both targets have in common.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_eventbridge::config::http::HttpResponse;
use aws_sdk_eventbridge::error::{ProvideErrorMetadata, SdkError};
use store::deadline::{Deadline, before};
use store::environment::{ConfigError, sdk_config};
use store::error;
use store::s3::S3Error;

/// How long one attempt of a call may take: the largest is 4 MB.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bound of the wait before the first retry, instead of the SDK's one second.
const BACKOFF_BASE: Duration = Duration::from_millis(100);

/// The configuration of both clients. Each service has the SDK's retry partition of its own.
pub(crate) fn config() -> Result<SdkConfig, ConfigError> {
    let config = sdk_config()?
        .into_builder()
        .retry_config(RetryConfig::standard().with_initial_backoff(BACKOFF_BASE))
        .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build());
    Ok(config.build())
}

/// The first event that a target did not take. It may have taken later ones.
#[derive(Debug)]
pub(crate) struct Undelivered {
    /// The position that the caller gave the event.
    pub(crate) position: usize,
    pub(crate) cause: Cause,
}

/// Why a call failed, or a target did not take an event. The log shows it, so it is never a message, which may contain an
/// event.
#[derive(Debug, thiserror::Error)]
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
    /// The target will never take this call, because of what is in it: it does not say which event.
    #[error("{0}")]
    InvalidCall(String),
}

impl Cause {
    /// The cause of an error code.
    pub(crate) fn of_code(code: &str) -> Self {
        match code {
            "MalformedDetail" => Self::MalformedDetail,
            "InvalidArgument"
            | "RequestEntityTooLargeException"
            | "SerializationException"
            | "ValidationError"
            | "ValidationException" => Self::InvalidCall(code.to_owned()),
            code => match error::Cause::from_code(code) {
                error::Cause::InvalidCredentials => error::Cause::InvalidCredentials.into(),
                // The others name DynamoDB's errors.
                _ => error::Cause::Other(code.to_owned()).into(),
            },
        }
    }
}

/// The results of a call, if there is one for each of its `count` entries or records.
pub(crate) fn one_for_each<R>(count: usize, results: Vec<R>) -> Result<Vec<R>, Cause> {
    if results.len() == count { Ok(results) } else { Err(error::Cause::ResponseError.into()) }
}

/// Checks that each result has an id and no error code. The position of its event is beside it.
pub(crate) fn confirm<'r>(
    results: impl Iterator<Item = (usize, (Option<&'r str>, Option<&'r str>))>,
) -> Result<(), Undelivered> {
    for (position, (id, code)) in results {
        if id.is_none() || code.is_some() {
            let cause = code.map_or(error::Cause::ResponseError.into(), Cause::of_code);
            return Err(Undelivered { position, cause });
        }
    }
    Ok(())
}

/// Waits for a call until `deadline`.
pub(crate) async fn call<T, E: ProvideErrorMetadata>(
    call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    deadline: Deadline,
) -> Result<T, Cause> {
    let Ok(result) = before(deadline, call).await else { return Err(error::Cause::DeadlineExceeded.into()) };
    result.map_err(|error| match &error {
        SdkError::ConstructionFailure(_) => Cause::RequestError,
        SdkError::TimeoutError(_) => error::Cause::Timeout.into(),
        SdkError::DispatchFailure(_) => error::Cause::DispatchFailure.into(),
        SdkError::ServiceError(service) => match service.err().code() {
            Some(code) => Cause::of_code(code),
            None => Cause::Status(service.raw().status().as_u16()),
        },
        _ => error::Cause::ResponseError.into(),
    })
}
