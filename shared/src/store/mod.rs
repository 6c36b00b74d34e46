//! DynamoDB: one file a table, one for the client, one for what is written on the wire.
//!
//! It knows keys, conditions and retries. It does not know which status a failure becomes, and never says what an item
//! held: an error of the SDK may carry one, so it stops here and only its kind goes on.

pub mod api_keys;
mod batch_write;
pub mod client;
pub mod customers;
mod http;
pub mod rejected_signals;
pub mod requests;
mod signal_item;
pub mod signals;
pub mod trust;
mod values;
mod wire;

use std::fmt;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::invocation::OutOfTime;

/// Comes back when the connection of a call that was answered can be used again: it goes back to its pool in a task of its
/// own, and the next call would open another. It costs a round of the runtime, so it is for where a call follows.
async fn connection_is_free() {
    tokio::task::yield_now().await;
}

/// Why a call to DynamoDB failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// DynamoDB was throttled, failed, refused us or did not answer in time. What it was, in one word.
    Unavailable(String),
    /// DynamoDB found the request invalid: what it holds cannot be stored.
    Refused,
    /// The item would become larger than DynamoDB's 400 KB.
    ItemTooLarge,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(kind) => f.write_str(kind),
            Self::Refused => f.write_str("ValidationException"),
            Self::ItemTooLarge => f.write_str("ItemTooLarge"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<OutOfTime> for StoreError {
    fn from(_: OutOfTime) -> Self {
        Self::Unavailable("OutOfTime".to_owned())
    }
}

impl<E: ProvideErrorMetadata, R> From<SdkError<E, R>> for StoreError {
    fn from(error: SdkError<E, R>) -> Self {
        let kind = match &error {
            SdkError::TimeoutError(_) => "Timeout",
            SdkError::DispatchFailure(_) => "DispatchFailure",
            SdkError::ResponseError(_) => "ResponseError",
            SdkError::ServiceError(service) => {
                let metadata = service.err().meta();
                match metadata.code() {
                    Some("ValidationException") if metadata.message().is_some_and(is_about_item_size) => {
                        return Self::ItemTooLarge;
                    }
                    Some("ValidationException" | "SerializationException") => return Self::Refused,
                    Some(code) => code,
                    None => "ServiceError",
                }
            }
            _ => "SdkError",
        };
        Self::Unavailable(kind.to_owned())
    }
}

/// `Item size to update has exceeded the maximum allowed size`, and `Item size has exceeded ...` of a put.
fn is_about_item_size(message: &str) -> bool {
    message.contains("Item size")
}
