//! DynamoDB: one file a table, one for the client, one for what is written on the wire.
//!
//! It knows keys, conditions and retries. It does not know which status a failure becomes, and never says what an item
//! held: an error of the SDK may carry one, so it stops here and only its kind goes on.

pub mod api_keys;
mod attributes;
mod batch_write;
pub mod call_stats;
pub mod client;
pub mod customers;
mod dynamodb_json;
mod http;
pub mod idempotency;
pub mod rejected_signals;
mod signal_item;
pub mod signals;
mod throttling;
pub mod tls;
mod unprocessed;

use std::fmt;
use std::time::Duration;

use aws_runtime::retries::classifiers::THROTTLING_ERRORS;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use model::deadline::{Deadline, DeadlineExceeded};

/// Comes back when the connection of a call that was answered can be used again: it goes back to its pool in a task of its
/// own, and the next call would open another. It costs a round of the runtime, so it is for where a call follows.
async fn yield_for_connection_reuse() {
    tokio::task::yield_now().await;
}

/// How long DynamoDB may take for what a request writes, whatever the failure: the idempotency record and the signals
/// together, or a customer's update.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Does `work` until `deadline`, and then drops it where it stands.
async fn before<T>(deadline: Deadline, work: impl Future<Output = T>) -> Result<T, DeadlineExceeded> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    tokio::time::timeout_at(deadline.until().into(), Box::pin(work)).await.map_err(|_| DeadlineExceeded)
}

/// Why a call to DynamoDB failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// DynamoDB was throttled, failed, refused us or did not answer in time.
    Unavailable(Cause),
    /// DynamoDB found the request invalid: what it holds cannot be stored.
    Invalid,
    /// The item would become larger than DynamoDB's 400 KB.
    ItemTooLarge,
    /// A stored item is not as this service writes it.
    Corrupt,
}

/// Why DynamoDB is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It throttled the table, by an exception or by unprocessed items, for as long as there was to wait.
    Throttled,
    /// The request's deadline passed first.
    DeadlineExceeded,
    /// An attempt was not answered in time.
    Timeout,
    /// No connection, or one that broke before the response.
    DispatchFailure,
    /// A response that cannot be read.
    ResponseError,
    /// It failed.
    ServerError,
    /// There is no such table in this region and account.
    NoSuchTable,
    /// The credentials are valid, but do not permit the call.
    AccessDenied,
    /// The credentials are wrong or have expired.
    InvalidCredentials,
    /// Another error: its code.
    Other(String),
}

impl Cause {
    /// The cause that an error code of DynamoDB stands for ("Error handling with DynamoDB", developer guide).
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "ValidationException",
            Self::ItemTooLarge => "ItemTooLarge",
            Self::Corrupt => "CorruptItem",
            Self::Unavailable(cause) => match cause {
                Cause::Throttled => "Throttled",
                Cause::DeadlineExceeded => "DeadlineExceeded",
                Cause::Timeout => "Timeout",
                Cause::DispatchFailure => "DispatchFailure",
                Cause::ResponseError => "ResponseError",
                Cause::ServerError => "ServerError",
                Cause::NoSuchTable => "NoSuchTable",
                Cause::AccessDenied => "AccessDenied",
                Cause::InvalidCredentials => "InvalidCredentials",
                Cause::Other(code) => code,
            },
        })
    }
}

impl std::error::Error for StoreError {}

impl From<DeadlineExceeded> for StoreError {
    fn from(_: DeadlineExceeded) -> Self {
        Self::Unavailable(Cause::DeadlineExceeded)
    }
}

impl<E: ProvideErrorMetadata, R> From<SdkError<E, R>> for StoreError {
    fn from(error: SdkError<E, R>) -> Self {
        Self::Unavailable(match &error {
            SdkError::TimeoutError(_) => Cause::Timeout,
            SdkError::DispatchFailure(_) => Cause::DispatchFailure,
            SdkError::ResponseError(_) => Cause::ResponseError,
            SdkError::ServiceError(service) => {
                let metadata = service.err().meta();
                match metadata.code() {
                    Some("ValidationException") if metadata.message().is_some_and(is_about_item_size) => {
                        return Self::ItemTooLarge;
                    }
                    Some("ValidationException" | "SerializationException") => return Self::Invalid,
                    Some(code) => Cause::from_code(code),
                    // A 5xx without a body, as what stands before DynamoDB may answer.
                    None => Cause::ServerError,
                }
            }
            _ => Cause::Other("SdkError".to_owned()),
        })
    }
}

/// `Item size to update has exceeded the maximum allowed size`, and `Item size has exceeded ...` of a put.
fn is_about_item_size(message: &str) -> bool {
    message.contains("Item size")
}
