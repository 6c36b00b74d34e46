//! Why a call to DynamoDB failed. An error of the SDK may contain an item, so a [`StoreError`] has only
//! its kind.

use aws::call_error::{CONTENT_TOO_LARGE, CallError, Refusal, SdkFailure};
use aws::deadline::DeadlineExceeded;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// Why a call to DynamoDB failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttled, failed, denied access or did not respond in time.
    #[error(transparent)]
    Unavailable(#[from] CallError),
    /// DynamoDB found the request invalid: it cannot store these values.
    #[error("ValidationException")]
    Invalid,
    /// The item would become larger than DynamoDB's 400 KB.
    #[error("ItemTooLarge")]
    ItemTooLarge,
    /// A proxy before DynamoDB found the call too large.
    #[error("HTTP {CONTENT_TOO_LARGE}")]
    CallTooLarge,
    /// A stored item does not have the form that this service writes.
    #[error("CorruptItem")]
    Corrupt,
    /// The request could not be written, so DynamoDB never got it: a defect of this service.
    #[error("UnserializableRequest")]
    Unserializable,
}

/// Why valid data of a request is not stored: it is deferred, it is refused, or the request fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnstoredReason {
    /// A call to DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is wrong with a version of this service, or with its configuration, so that it cannot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFault {
    /// It makes calls that DynamoDB finds invalid, or that cannot be written.
    Call,
    /// It may not use a table or the table's KMS key, or there is no such table.
    Access,
}

impl StoreError {
    /// Whether AWS refused the credentials of this process. Another process gets new ones.
    pub fn are_credentials_refused(&self) -> bool {
        matches!(self, Self::Unavailable(CallError::InvalidCredentials))
    }

    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(error) => error.is_transient(),
            Self::Invalid
            | Self::ItemTooLarge
            | Self::CallTooLarge
            | Self::Corrupt
            | Self::Unserializable => false,
        }
    }

    /// Whether what the call would store was refused for good.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Invalid | Self::ItemTooLarge | Self::CallTooLarge
        )
    }

    /// What is wrong with this service, if the call was valid. No client can cause it, whatever it sends:
    /// it raises the alarm that stops a deployment.
    pub fn own_fault(&self) -> Option<OwnFault> {
        match self {
            Self::Invalid | Self::Unserializable => Some(OwnFault::Call),
            Self::Unavailable(
                CallError::AccessDenied | CallError::NoSuchTable | CallError::UnusableKey(_),
            ) => Some(OwnFault::Access),
            // The next process has new credentials. A client decides how large an item is.
            Self::Unavailable(_) | Self::ItemTooLarge | Self::CallTooLarge | Self::Corrupt => None,
        }
    }
}

impl UnstoredReason {
    /// Whether AWS refused the credentials of this process. Another process gets new ones.
    pub fn are_credentials_refused(&self) -> bool {
        match self {
            Self::Store(error) => error.are_credentials_refused(),
        }
    }

    /// What is wrong with this service, if that is the reason: see [`StoreError::own_fault`].
    pub fn own_fault(&self) -> Option<OwnFault> {
        match self {
            Self::Store(error) => error.own_fault(),
        }
    }

    /// The reason that helps the operator most: the first one after which the process must end, or else the
    /// first fault of this service, or else the first reason.
    pub fn most_telling<'r>(reasons: impl IntoIterator<Item = &'r Self>) -> Option<Self> {
        let rank = |reason: &&Self| {
            if reason.are_credentials_refused() {
                0
            } else if reason.own_fault().is_some() {
                1
            } else {
                2
            }
        };
        reasons.into_iter().min_by_key(rank).cloned()
    }
}

impl From<DeadlineExceeded> for StoreError {
    fn from(_: DeadlineExceeded) -> Self {
        Self::Unavailable(CallError::DeadlineExceeded)
    }
}

impl<E: ProvideErrorMetadata> From<SdkError<E, HttpResponse>> for StoreError {
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        match SdkFailure::from(&error) {
            SdkFailure::NotSent => Self::Unserializable,
            SdkFailure::NoResponse(error) => error.into(),
            SdkFailure::Refused(refusal) => refused(refusal),
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
        (None, _) if refusal.status == CONTENT_TOO_LARGE => StoreError::CallTooLarge,
        // DynamoDB names a code: a proxy denies the call, and perhaps for what is in it.
        (None, _) if matches!(refusal.status, 401 | 403 | 407) => {
            CallError::Other(format!("HTTP {}", refusal.status)).into()
        }
        _ => refusal.call_error().into(),
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

    #[test]
    fn only_what_no_client_and_no_outage_causes_is_a_fault_of_this_service() {
        let access = Some(OwnFault::Access);
        let key = CallError::UnusableKey("KMSDisabledException".to_owned());
        for (error, expected) in [
            (CallError::AccessDenied, access),
            (CallError::NoSuchTable, access),
            (key, access),
            (CallError::InvalidCredentials, None),
            (CallError::ClockSkew, None),
            (CallError::Throttled, None),
            (CallError::Timeout, None),
            (CallError::DeadlineExceeded, None),
            (CallError::ServerError, None),
            (CallError::Other("HTTP 403".to_owned()), None),
        ] {
            assert_eq!(
                StoreError::from(error.clone()).own_fault(),
                expected,
                "{error}"
            );
        }
        assert_eq!(StoreError::Invalid.own_fault(), Some(OwnFault::Call));
        assert_eq!(StoreError::Unserializable.own_fault(), Some(OwnFault::Call));
        for of_client in [StoreError::ItemTooLarge, StoreError::CallTooLarge] {
            assert_eq!(of_client.own_fault(), None, "{of_client}");
        }
    }
}
