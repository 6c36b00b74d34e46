//! Why a call to a target or the failure bucket failed. This module must not know how a
//! target is invoked.

use aws::call_error::{CallError, Refusal};
use aws::s3::S3Error;

use crate::stream_record::RecordPosition;

/// Why a call failed, or a target did not accept a CloudEvent. A CloudEvent that a target will never accept
/// goes to the failure bucket. The delivery ends at any other error. The log
/// shows the error, so it is never a message, which may contain a CloudEvent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// The call failed, or the target returned another code.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The request could not be written or signed.
    #[error("RequestError")]
    RequestError,
    /// The failure bucket did not accept a record.
    #[error(transparent)]
    Bucket(S3Error),
    /// `EventBridge` will never accept this CloudEvent. Other errors may pass, or the operator can
    /// fix their cause.
    #[error("{0}")]
    InvalidCloudEvent(String),
    /// The target will never accept this call, because of its content. It does not say which
    /// CloudEvent is wrong.
    #[error("{0}")]
    InvalidCall(String),
}

impl TargetError {
    /// The error of the error code of an item, or of a whole call.
    pub(crate) fn from_code(code: &str) -> Self {
        match code {
            "InvalidArgument" | "MalformedDetail" => Self::InvalidCloudEvent(code.to_owned()),
            "InvalidArgumentException"
            | "RequestEntityTooLargeException"
            | "SerializationException"
            | "ValidationError"
            | "ValidationException" => Self::InvalidCall(code.to_owned()),
            // `Refusal::call_error` would give the code the meaning that it has in DynamoDB.
            code => CallError::Other(code.to_owned()).into(),
        }
    }

    /// Why a target refused a whole call: by its error code or, without one, by its status. A 4xx
    /// without a code says that the target, or a proxy before it, will never accept the content of
    /// the call. A status with another meaning, such as 403 or 429, is a [`CallError`] of its own.
    pub(crate) fn from_refusal(refusal: Refusal<'_>) -> Self {
        let Some(code) = refusal.code else {
            return match CallError::from_status(refusal.status) {
                CallError::Other(status) => Self::InvalidCall(status),
                error => error.into(),
            };
        };
        match CallError::of_signature(code, refusal.message) {
            Some(error) => error.into(),
            None => Self::from_code(code),
        }
    }

    /// Whether the target will never accept the CloudEvent, because of its content.
    pub(crate) fn is_for_good(&self) -> bool {
        matches!(self, Self::InvalidCloudEvent(_) | Self::InvalidCall(_))
    }
}

/// A record that is to be delivered again, with all that follow it.
#[derive(Debug)]
pub(crate) struct FailedRecord {
    pub(crate) position: RecordPosition,
    /// The name of the target or of the failure bucket in the log.
    pub(crate) target: &'static str,
    pub(crate) error: TargetError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_without_a_code_is_for_good_unless_its_status_may_pass() {
        let error_of = |status| {
            TargetError::from_refusal(Refusal {
                status,
                code: None,
                message: None,
            })
        };
        for status in [400, 404, 413, 431] {
            assert!(error_of(status).is_for_good(), "{status}");
        }
        for (status, cause) in [
            (403, "AccessDenied"),
            (429, "Throttled"),
            (500, "ServerError"),
            (503, "ServerError"),
        ] {
            let error = error_of(status);
            assert!(!error.is_for_good(), "{status}");
            assert_eq!(error.to_string(), cause);
        }
    }
}
