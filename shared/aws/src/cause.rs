//! Why a call to AWS failed. An error of the SDK may contain an item, so only its kind is kept.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::deadline::DeadlineExceeded;

/// Why DynamoDB, SQS, S3 or a target of the delivery did not do a call, as the log shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// DynamoDB throttled the call, by an exception or by unprocessed items.
    #[error("Throttled")]
    Throttled,
    /// The time of the request was over before the service answered.
    #[error("DeadlineExceeded")]
    DeadlineExceeded,
    /// The service did not respond to an attempt in time.
    #[error("Timeout")]
    Timeout,
    /// No connection, or one that broke before the response.
    #[error("DispatchFailure")]
    DispatchFailure,
    /// A response that cannot be parsed.
    #[error("ResponseError")]
    ResponseError,
    /// The service answered with a 5xx.
    #[error("ServerError")]
    ServerError,
    /// There is no such table in this region and account.
    #[error("NoSuchTable")]
    NoSuchTable,
    /// The credentials are valid, but do not permit the call.
    #[error("AccessDenied")]
    AccessDenied,
    /// The credentials are invalid or have expired.
    #[error("InvalidCredentials")]
    InvalidCredentials,
    /// Another error, with its code.
    #[error("{0}")]
    Other(String),
}

/// How a call of an SDK failed. Each service has its own error codes, so the caller interprets
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure<'e> {
    /// The request could not be written, so the service never got it: a defect of ours.
    NotSent,
    /// The service answered with an error that has a code.
    Refused {
        code: &'e str,
        /// The text of the service, which may contain a value of a client.
        message: Option<&'e str>,
        is_server_error: bool,
    },
    /// There was no answer, or none that can be read.
    Unanswered(Cause),
}

impl Cause {
    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Throttled
            | Self::Timeout
            | Self::DispatchFailure
            | Self::ResponseError
            | Self::ServerError => true,
            Self::DeadlineExceeded
            | Self::NoSuchTable
            | Self::AccessDenied
            | Self::InvalidCredentials
            | Self::Other(_) => false,
        }
    }

    /// Whether this error code says that the credentials are invalid or have expired. It is one of
    /// the codes of AWS's own checks, which the services share.
    pub fn is_invalid_credentials(code: &str) -> bool {
        matches!(
            code,
            "ExpiredTokenException"
                | "IncompleteSignatureException"
                | "InvalidClientTokenId"
                | "InvalidSignatureException"
                | "MissingAuthenticationTokenException"
                | "UnrecognizedClientException"
        )
    }

    /// The cause of an error code of DynamoDB ("Error handling with DynamoDB", developer guide) or
    /// SQS, which share the codes of AWS's own checks.
    pub fn from_code(code: &str, is_server_error: bool) -> Self {
        match code {
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException" => Self::Throttled,
            "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => Self::ServerError,
            "ResourceNotFoundException" => Self::NoSuchTable,
            "AccessDeniedException" => Self::AccessDenied,
            _ if Self::is_invalid_credentials(code) => Self::InvalidCredentials,
            _ if is_server_error => Self::ServerError,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl<'e, E: ProvideErrorMetadata> From<&'e SdkError<E, HttpResponse>> for CallFailure<'e> {
    fn from(error: &'e SdkError<E, HttpResponse>) -> Self {
        let cause = match error {
            SdkError::ConstructionFailure(_) => return Self::NotSent,
            SdkError::TimeoutError(_) => Cause::Timeout,
            SdkError::DispatchFailure(_) => Cause::DispatchFailure,
            // To the SDK, a 200 that it cannot parse is an error without a code.
            SdkError::ServiceError(service) if service.raw().status().is_success() => {
                Cause::ResponseError
            }
            SdkError::ServiceError(service) => match service.err().code() {
                Some(code) => {
                    return Self::Refused {
                        code,
                        message: service.err().message(),
                        is_server_error: service.raw().status().is_server_error(),
                    };
                }
                // A 5xx without a body, for example from a load balancer.
                None => Cause::ServerError,
            },
            _ => Cause::ResponseError,
        };
        Self::Unanswered(cause)
    }
}

impl From<DeadlineExceeded> for Cause {
    fn from(_: DeadlineExceeded) -> Self {
        Self::DeadlineExceeded
    }
}
