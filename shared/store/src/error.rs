//! Why DynamoDB did not do what it was asked to. An error of the SDK may contain an item, so only its kind is kept.

use aws_runtime::retries::classifiers::THROTTLING_ERRORS;
use aws_smithy_runtime_api::client::result::{SdkError, ServiceError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use model::deadline::DeadlineExceeded;

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
}

/// Why DynamoDB is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// DynamoDB throttled the table, by an exception or by unprocessed items, until there was no time left.
    #[error("Throttled")]
    Throttled,
    /// The request's deadline passed.
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
    /// DynamoDB failed.
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

impl Cause {
    /// The cause of a failed call.
    ///
    /// # Errors
    /// The error that the service returned, if it is one.
    pub fn of_transport<E, R>(error: SdkError<E, R>) -> Result<Self, ServiceError<E, R>> {
        match error {
            SdkError::TimeoutError(_) => Ok(Self::Timeout),
            SdkError::DispatchFailure(_) => Ok(Self::DispatchFailure),
            SdkError::ResponseError(_) => Ok(Self::ResponseError),
            SdkError::ServiceError(error) => Err(error),
            _ => Ok(Self::Other("SdkError".to_owned())),
        }
    }

    /// The cause of an error code of DynamoDB ("Error handling with DynamoDB", developer guide).
    fn from_code(code: &str) -> Self {
        match code {
            _ if THROTTLING_ERRORS.contains(&code) => Self::Throttled,
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

impl<E: ProvideErrorMetadata, R> From<SdkError<E, R>> for StoreError {
    fn from(error: SdkError<E, R>) -> Self {
        let metadata = match Cause::of_transport(error) {
            Ok(cause) => return Self::Unavailable(cause),
            Err(service) => service.into_err().meta().clone(),
        };
        match metadata.code() {
            Some("ValidationException") if metadata.message().is_some_and(is_about_item_size) => Self::ItemTooLarge,
            Some("ValidationException" | "SerializationException") => Self::Invalid,
            Some(code) => Self::Unavailable(Cause::from_code(code)),
            // A 5xx without a body, for example from a load balancer.
            None => Self::Unavailable(Cause::ServerError),
        }
    }
}

/// `Item size to update has exceeded the maximum allowed size`, and `Item size has exceeded ...` of a put.
fn is_about_item_size(message: &str) -> bool {
    message.contains("Item size")
}
