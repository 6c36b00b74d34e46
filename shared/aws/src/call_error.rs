//! Why a call to AWS failed. An error of the SDK may contain an item, so a [`CallError`] has only its kind.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::deadline::DeadlineExceeded;

/// The status that says that the content of a call is too large (RFC 9110, 15.5.14).
pub const CONTENT_TOO_LARGE: u16 = 413;

/// Why a call to DynamoDB, SQS, S3 or a target of the delivery failed, as the log shows it.
/// docs/runbook.md says for each what an operator does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service throttled the call, by an exception or by unprocessed items.
    #[error("Throttled")]
    Throttled,
    /// Another write of the same item was under way.
    #[error("Conflict")]
    Conflict,
    /// The deadline passed before the service responded.
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
    /// The service responded with a 5xx.
    #[error("ServerError")]
    ServerError,
    /// The clock of this process is minutes ahead of the service's clock, or behind it, so its
    /// signatures are not valid. The SDK signs the next call with the time of the response.
    #[error("ClockSkew")]
    ClockSkew,
    /// There is no such table in this region and account.
    #[error("NoSuchTable")]
    NoSuchTable,
    /// The credentials are valid, but do not permit the call.
    #[error("AccessDenied")]
    AccessDenied,
    /// The credentials are invalid or have expired.
    #[error("InvalidCredentials")]
    InvalidCredentials,
    /// The KMS key of the table or the queue cannot be used, with the service's code.
    #[error("{0}")]
    UnusableKey(String),
    /// Another error, with its code or, without one, its status, such as `HTTP 404`.
    #[error("{0}")]
    Other(String),
}

/// How a call of an SDK failed. Each service has its own error codes, so the caller interprets
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdkFailure<'e> {
    /// The request could not be written, so the service never got it: a defect of ours.
    NotSent,
    /// The service, or a proxy before it, responded with an error.
    Refused(Refusal<'e>),
    /// There was no response, or it cannot be read.
    NoResponse(CallError),
}

/// An error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'e> {
    /// The HTTP status: not a 2xx.
    pub status: u16,
    /// The error code of the service. `None` if the body is not one of the service: a proxy or a load
    /// balancer may have responded.
    pub code: Option<&'e str>,
    /// The text of the service, which may contain a value of a client.
    pub message: Option<&'e str>,
}

impl CallError {
    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Throttled
            | Self::Conflict
            | Self::Timeout
            | Self::DispatchFailure
            | Self::ResponseError
            | Self::ServerError
            | Self::ClockSkew => true,
            Self::DeadlineExceeded
            | Self::NoSuchTable
            | Self::AccessDenied
            | Self::InvalidCredentials
            | Self::UnusableKey(_)
            | Self::Other(_) => false,
        }
    }

    /// The error of a response without an error code (RFC 9110, section 15).
    pub fn from_status(status: u16) -> Self {
        match status {
            401 | 403 | 407 => Self::AccessDenied,
            408 => Self::Timeout,
            429 => Self::Throttled,
            400..500 => Self::Other(format!("HTTP {status}")),
            500.. => Self::ServerError,
            // A redirect: no service of AWS sends one here.
            _ => Self::ResponseError,
        }
    }

    /// The error if this error code is one of AWS's own checks of a request's signature, which the
    /// services share ("Common Errors" in the API reference of each).
    pub fn of_signature(code: &str, message: Option<&str>) -> Option<Self> {
        match code {
            "RequestExpired" | "RequestTimeTooSkewed" => Some(Self::ClockSkew),
            "AuthFailure" | "InvalidSignatureException" | "SignatureDoesNotMatch"
                if message.is_some_and(is_about_signing_time) =>
            {
                Some(Self::ClockSkew)
            }
            "ExpiredToken"
            | "ExpiredTokenException"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "InvalidAccessKeyId"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "InvalidToken"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException" => Some(Self::InvalidCredentials),
            _ => None,
        }
    }
}

/// `Signature expired: 20261120T221640Z is now earlier than ...`, and `Signature not yet current:
/// ...` of a clock that is ahead.
fn is_about_signing_time(message: &str) -> bool {
    message.starts_with("Signature expired") || message.starts_with("Signature not yet current")
}

impl Refusal<'_> {
    /// Why DynamoDB ("Error handling with DynamoDB", developer guide) or SQS ("`SendMessage`", API
    /// reference) refused a call: by its error code or, without one, by its status.
    pub fn call_error(&self) -> CallError {
        let Some(code) = self.code else {
            return CallError::from_status(self.status);
        };
        if let Some(error) = CallError::of_signature(code, self.message) {
            return error;
        }
        match code {
            // The codes with a dot are from SQS's older protocol, which its documentation still names.
            "KMS.ThrottlingException"
            | "KmsThrottled"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "RequestThrottled"
            | "Throttling"
            | "ThrottlingException" => CallError::Throttled,
            "ReplicatedWriteConflictException"
            | "TransactionConflictException"
            | "TransactionInProgressException" => CallError::Conflict,
            "RequestTimeout" | "RequestTimeoutException" => CallError::Timeout,
            "InternalFailure" | "InternalServerError" | "ServiceUnavailable" => {
                CallError::ServerError
            }
            "ResourceNotFoundException" => CallError::NoSuchTable,
            "AccessDeniedException" => CallError::AccessDenied,
            _ if self.status >= 500 => CallError::ServerError,
            _ if self.status == 429 => CallError::Throttled,
            _ if is_about_kms(code) => CallError::UnusableKey(code.to_owned()),
            other => CallError::Other(other.to_owned()),
        }
    }
}

/// `KmsDisabled`, `KMS.DisabledException` and their like: a service passes on why KMS does not let it use a
/// key.
fn is_about_kms(code: &str) -> bool {
    code.starts_with("Kms") || code.starts_with("KMS")
}

impl<'e, E: ProvideErrorMetadata> From<&'e SdkError<E, HttpResponse>> for SdkFailure<'e> {
    fn from(error: &'e SdkError<E, HttpResponse>) -> Self {
        match error {
            SdkError::ConstructionFailure(_) => Self::NotSent,
            SdkError::TimeoutError(_) => Self::NoResponse(CallError::Timeout),
            SdkError::DispatchFailure(_) => Self::NoResponse(CallError::DispatchFailure),
            // To the SDK, a 200 that it cannot parse is an error without a code.
            SdkError::ServiceError(service) if !service.raw().status().is_success() => {
                Self::Refused(Refusal {
                    status: service.raw().status().as_u16(),
                    code: service.err().code(),
                    message: service.err().message(),
                })
            }
            // Some of the SDKs call a response without a code unreadable.
            SdkError::ResponseError(unreadable) if is_whole_error(unreadable.raw()) => {
                Self::Refused(Refusal {
                    status: unreadable.raw().status().as_u16(),
                    code: None,
                    message: None,
                })
            }
            _ => Self::NoResponse(CallError::ResponseError),
        }
    }
}

/// Whether an error response was read to its end.
fn is_whole_error(response: &HttpResponse) -> bool {
    !response.status().is_success() && response.body().bytes().is_some()
}

impl From<DeadlineExceeded> for CallError {
    fn from(_: DeadlineExceeded) -> Self {
        Self::DeadlineExceeded
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;

    use super::*;

    fn refusal<'e>(status: u16, code: Option<&'e str>, message: &'e str) -> Refusal<'e> {
        Refusal {
            status,
            code,
            message: Some(message),
        }
    }

    #[test]
    fn response_without_a_code_is_decided_by_its_status() {
        for (status, cause) in [
            (400, CallError::Other("HTTP 400".to_owned())),
            (401, CallError::AccessDenied),
            (403, CallError::AccessDenied),
            (404, CallError::Other("HTTP 404".to_owned())),
            (408, CallError::Timeout),
            (413, CallError::Other("HTTP 413".to_owned())),
            (429, CallError::Throttled),
            (431, CallError::Other("HTTP 431".to_owned())),
            (500, CallError::ServerError),
            (502, CallError::ServerError),
            (503, CallError::ServerError),
            (504, CallError::ServerError),
        ] {
            let decided = refusal(status, None, "").call_error();
            assert_eq!(decided, cause, "{status}");
            let may_pass = status == 408 || status == 429 || status >= 500;
            assert_eq!(decided.is_transient(), may_pass, "{status}");
        }
    }

    #[test]
    fn unreadable_response_is_a_refusal_only_when_it_is_a_whole_error() {
        for (status, body, is_refusal) in [
            (503, SdkBody::from("no JSON"), true),
            (503, SdkBody::taken(), false),
            (200, SdkBody::from("no JSON"), false),
        ] {
            let response = HttpResponse::new(status.try_into().unwrap(), body);
            let error = SdkError::<ErrorMetadata, _>::response_error("unreadable", response);
            let failure = SdkFailure::from(&error);
            assert_eq!(
                matches!(failure, SdkFailure::Refused(_)),
                is_refusal,
                "{status}"
            );
        }
    }

    #[test]
    fn clock_that_is_wrong_is_told_apart_from_a_refused_key() {
        let late = "Signature expired: 20261120T221640Z is now earlier than 20261120T222140Z";
        let early = "Signature not yet current: 20261120T223640Z is still later than ...";
        let refused =
            "The request signature we calculated does not match the signature you provided";
        for (code, message, cause) in [
            ("InvalidSignatureException", late, CallError::ClockSkew),
            ("InvalidSignatureException", early, CallError::ClockSkew),
            ("SignatureDoesNotMatch", late, CallError::ClockSkew),
            ("RequestTimeTooSkewed", "", CallError::ClockSkew),
            ("RequestExpired", "", CallError::ClockSkew),
            (
                "InvalidSignatureException",
                refused,
                CallError::InvalidCredentials,
            ),
            (
                "SignatureDoesNotMatch",
                refused,
                CallError::InvalidCredentials,
            ),
            ("ExpiredTokenException", "", CallError::InvalidCredentials),
            (
                "UnrecognizedClientException",
                late,
                CallError::InvalidCredentials,
            ),
        ] {
            assert_eq!(
                refusal(400, Some(code), message).call_error(),
                cause,
                "{code}"
            );
        }
    }

    #[test]
    fn code_of_an_error_that_passes_is_transient_whatever_its_status() {
        for code in [
            "InternalServerError",
            "KMS.ThrottlingException",
            "KmsThrottled",
            "ProvisionedThroughputExceededException",
            "ReplicatedWriteConflictException",
            "RequestThrottled",
            "RequestTimeTooSkewed",
            "ServiceUnavailable",
            "ThrottlingException",
            "TransactionConflictException",
        ] {
            assert!(
                refusal(400, Some(code), "").call_error().is_transient(),
                "{code}"
            );
        }
        for code in ["AccessDeniedException", "KmsDisabled", "QueueDoesNotExist"] {
            assert!(
                !refusal(400, Some(code), "").call_error().is_transient(),
                "{code}"
            );
        }
    }
}
