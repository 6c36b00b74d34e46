//! Why DynamoDB did not do what it was asked to. An error of the SDK may contain an item, so only
//! its kind is kept.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::deadline::DeadlineExceeded;

/// Why a call to DynamoDB failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttled, failed, denied access or did not respond in time.
    #[error(transparent)]
    Unavailable(#[from] Cause),
    /// DynamoDB found the request invalid: it cannot store these values.
    #[error("ValidationException")]
    Invalid,
    /// The item would become larger than DynamoDB's 400 KB.
    #[error("ItemTooLarge")]
    ItemTooLarge,
    /// A stored item is not as this service writes it.
    #[error("CorruptItem")]
    Corrupt,
    /// The request could not be written, so DynamoDB never got it: a defect of this service.
    #[error("UnserializableRequest")]
    Unserializable,
}

/// Why DynamoDB or SQS did not do a call, as the log shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// DynamoDB throttled the table, by an exception or by unprocessed items, until there was no
    /// time left.
    #[error("Throttled")]
    Throttled,
    /// The time of the request was over before DynamoDB answered.
    #[error("DeadlineExceeded")]
    DeadlineExceeded,
    /// DynamoDB did not respond to an attempt in time.
    #[error("Timeout")]
    Timeout,
    /// No connection, or one that broke before the response.
    #[error("DispatchFailure")]
    DispatchFailure,
    /// A response that cannot be parsed.
    #[error("ResponseError")]
    ResponseError,
    /// DynamoDB answered with a 5xx.
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

impl StoreError {
    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        let Self::Unavailable(cause) = self else {
            return false;
        };
        match cause {
            Cause::Throttled
            | Cause::Timeout
            | Cause::DispatchFailure
            | Cause::ResponseError
            | Cause::ServerError => true,
            Cause::DeadlineExceeded
            | Cause::NoSuchTable
            | Cause::AccessDenied
            | Cause::InvalidCredentials
            | Cause::Other(_) => false,
        }
    }
}

impl Cause {
    /// The cause of an error code of DynamoDB ("Error handling with DynamoDB", developer guide).
    pub fn from_code(code: &str) -> Self {
        match code {
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException" => Self::Throttled,
            "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => Self::ServerError,
            "ResourceNotFoundException" => Self::NoSuchTable,
            "AccessDeniedException" => Self::AccessDenied,
            "ExpiredTokenException"
            | "IncompleteSignatureException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "MissingAuthenticationTokenException"
            | "UnrecognizedClientException" => Self::InvalidCredentials,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<DeadlineExceeded> for StoreError {
    fn from(_: DeadlineExceeded) -> Self {
        Self::Unavailable(Cause::DeadlineExceeded)
    }
}

impl<E: ProvideErrorMetadata> From<SdkError<E, HttpResponse>> for StoreError {
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        Self::Unavailable(match &error {
            SdkError::ConstructionFailure(_) => return Self::Unserializable,
            SdkError::TimeoutError(_) => Cause::Timeout,
            SdkError::DispatchFailure(_) => Cause::DispatchFailure,
            SdkError::ResponseError(_) => Cause::ResponseError,
            // To the SDK, a 200 that it cannot parse is an error without a code.
            SdkError::ServiceError(service) if service.raw().status().is_success() => {
                Cause::ResponseError
            }
            SdkError::ServiceError(service) => {
                match (service.err().code(), service.err().message()) {
                    (Some("ValidationException"), Some(message)) if is_about_item_size(message) => {
                        return Self::ItemTooLarge;
                    }
                    (Some("ValidationException" | "SerializationException"), _) => {
                        return Self::Invalid;
                    }
                    (Some(code), _) => match Cause::from_code(code) {
                        Cause::Other(_) if service.raw().status().is_server_error() => {
                            Cause::ServerError
                        }
                        cause => cause,
                    },
                    // A 5xx without a body, for example from a load balancer.
                    (None, _) => Cause::ServerError,
                }
            }
            _ => Cause::Other("SdkError".to_owned()),
        })
    }
}

/// Not all signals were stored.
#[derive(Debug)]
pub struct UnstoredSignals {
    /// What the last call met.
    pub error: StoreError,
    /// The indices of those that DynamoDB found invalid.
    pub invalid: Vec<usize>,
    /// The indices of those that DynamoDB did not acknowledge: they may be stored or not.
    pub unacknowledged: Vec<usize>,
}

/// `Item size to update has exceeded the maximum allowed size`, and `Item size has exceeded ...` of
/// a put.
fn is_about_item_size(message: &str) -> bool {
    message.contains("Item size")
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    use super::*;
    use crate::attributes::to_item;

    #[test]
    fn request_that_cannot_be_written_is_none_that_dynamodb_found_invalid() {
        assert_eq!(to_item(&17), Err(StoreError::Unserializable), "no item");
        let unsent: SdkError<PutItemError, HttpResponse> =
            SdkError::construction_failure("no table name");
        assert_eq!(StoreError::from(unsent), StoreError::Unserializable);
    }
}
