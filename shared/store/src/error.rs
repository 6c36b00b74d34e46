//! Why DynamoDB did not do what it was asked to. An error of the SDK may contain an item, so only
//! its kind is kept.

use aws::cause::{CONTENT_TOO_LARGE, CallFailure, Cause, Refusal};
use aws::deadline::DeadlineExceeded;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

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

impl StoreError {
    /// Whether AWS refused the credentials of this process. Another process gets new ones.
    pub fn are_credentials_refused(&self) -> bool {
        matches!(self, Self::Unavailable(Cause::InvalidCredentials))
    }

    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(cause) => cause.is_transient(),
            Self::Invalid | Self::ItemTooLarge | Self::Corrupt | Self::Unserializable => false,
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
        match CallFailure::from(&error) {
            CallFailure::NotSent => Self::Unserializable,
            CallFailure::Unanswered(cause) => cause.into(),
            CallFailure::Refused(refusal) => refused(refusal),
        }
    }
}

/// Why DynamoDB refused a call.
fn refused(refusal: Refusal<'_>) -> StoreError {
    match (refusal.code, refusal.message) {
        (Some("ValidationException"), Some(message)) if is_about_item_size(message) => {
            StoreError::ItemTooLarge
        }
        (Some("ValidationException" | "SerializationException"), _) => StoreError::Invalid,
        // What is in the call is too large for DynamoDB, or for a proxy before it.
        (None, _) if refusal.status == CONTENT_TOO_LARGE => StoreError::Invalid,
        _ => refusal.cause().into(),
    }
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
