//! Problems: why a request failed (docs/api.md, Errors). Every error of a function becomes one.
//!
//! This module must not know how a problem is written: see [`crate::problem_document`].

mod problem_type;

use model::batch::BatchError;
use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::key_entry::KeyStatus;
use model::pointer::JsonPointer;
use model::validation::FieldError;
use store::error::StoreError;

pub use self::problem_type::ProblemType;
use crate::route::Route;
use crate::success::BatchResponse;

/// Why a request failed; each becomes one response.
#[derive(Debug)]
pub enum Problem {
    /// The body is not JSON.
    MalformedJson(JsonSyntaxError),
    /// Content-Encoding is gzip, but the body is not.
    MalformedGzip,
    /// The gzip body has more members than the limit.
    TooManyGzipMembers,
    /// The body as a whole is invalid.
    ValidationFailed(Vec<FieldError>),
    /// No signal was accepted.
    BatchRejected {
        /// The counts and the errors.
        response: Box<BatchResponse>,
        /// How many signals are invalid: with strict handling one is enough to reject all.
        invalid: usize,
    },
    /// The request has no valid API key. The reason is for the log.
    Unauthorized(UnauthorizedReason),
    /// The API key is restricted to another endpoint.
    Forbidden,
    /// No route has this path.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed(&'static Route),
    /// The body is larger than the limit.
    PayloadTooLarge {
        /// Its bytes; `None` for a compressed body, which is not decompressed beyond the limit.
        sent: Option<usize>,
    },
    /// More signals than the limit.
    TooManySignals {
        /// The signals of the request, also those beyond the limit.
        sent: usize,
    },
    /// A media type or a content encoding that is not supported. The sentence names those that are.
    UnsupportedMediaType(&'static str),
    /// The requestIdentifier was used with another body.
    RequestIdentifierReused,
    /// The customer would become larger than an item may be.
    CustomerTooLarge,
    /// A defect of this service: the error of a call whose values it made itself, or a panic, which
    /// has a line in the log.
    InternalError(Option<StoreError>),
    /// DynamoDB is unavailable, and nothing could be deferred.
    StorageUnavailable {
        /// For the log: the response does not say it.
        error: StoreError,
        /// The requestIdentifier to retry with, if there is an idempotency record for it.
        retry_identifier: Option<RequestIdentifier>,
    },
}

/// Why a request has no valid API key. The log says it and the response does not (docs/api.md,
/// Errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnauthorizedReason {
    /// There is no header `Authorization: Bearer <key>`.
    Missing,
    /// Not one word of visible ASCII.
    Malformed,
    /// Not in the key table.
    Unknown,
    /// Its `expiresAt` has passed.
    Expired,
    /// An operator revoked it.
    Revoked,
}

impl UnauthorizedReason {
    /// As the log shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => KeyStatus::Expired.as_str(),
            Self::Revoked => KeyStatus::Revoked.as_str(),
        }
    }
}

impl From<JsonSyntaxError> for Problem {
    fn from(error: JsonSyntaxError) -> Self {
        Self::MalformedJson(error)
    }
}

impl From<Vec<FieldError>> for Problem {
    fn from(errors: Vec<FieldError>) -> Self {
        Self::ValidationFailed(errors)
    }
}

impl From<BatchError> for Problem {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::Invalid(errors) => Self::ValidationFailed(errors),
            BatchError::TooManySignals { sent } => Self::TooManySignals { sent },
        }
    }
}

/// The error of a call whose values this service made itself: if DynamoDB finds them invalid, that
/// is a defect.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::StorageUnavailable {
                error,
                retry_identifier: None,
            },
            StoreError::Invalid
            | StoreError::ItemTooLarge
            | StoreError::Corrupt
            | StoreError::Unserializable => Self::InternalError(Some(error)),
        }
    }
}

impl Problem {
    /// The rejection of a whole batch, because of the rejected signals of `response`.
    pub fn batch_rejected(response: BatchResponse) -> Self {
        let invalid = response.counts.rejected;
        Self::BatchRejected {
            response: Box::new(response.rejecting_all()),
            invalid,
        }
    }

    /// The error of a call with the values of a customer. If DynamoDB finds them invalid although
    /// they passed every check, the client is told.
    pub fn from_upsert(error: StoreError) -> Self {
        match error {
            StoreError::ItemTooLarge => Self::CustomerTooLarge,
            StoreError::Invalid => {
                let data = JsonPointer::Member(&JsonPointer::Root, "customerData");
                Self::ValidationFailed(vec![FieldError::refused_by_store(&data)])
            }
            error => error.into(),
        }
    }

    /// The type, which has the status and the code.
    pub fn problem_type(&self) -> ProblemType {
        match self {
            Self::MalformedJson(_) | Self::MalformedGzip | Self::TooManyGzipMembers => {
                ProblemType::MALFORMED_JSON
            }
            Self::ValidationFailed(_) | Self::BatchRejected { .. } => {
                ProblemType::VALIDATION_FAILED
            }
            Self::Unauthorized(_) => ProblemType::UNAUTHORIZED,
            Self::Forbidden => ProblemType::FORBIDDEN,
            Self::NotFound => ProblemType::NOT_FOUND,
            Self::MethodNotAllowed(_) => ProblemType::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge { .. } => ProblemType::PAYLOAD_TOO_LARGE,
            Self::TooManySignals { .. } => ProblemType::TOO_MANY_SIGNALS,
            Self::UnsupportedMediaType(_) => ProblemType::UNSUPPORTED_MEDIA_TYPE,
            Self::RequestIdentifierReused => ProblemType::REQUEST_IDENTIFIER_REUSED,
            Self::CustomerTooLarge => ProblemType::CUSTOMER_TOO_LARGE,
            Self::InternalError(_) => ProblemType::INTERNAL_ERROR,
            Self::StorageUnavailable { .. } => ProblemType::STORAGE_UNAVAILABLE,
        }
    }

    /// The validation errors, which are the entries of `fieldErrors`.
    pub fn field_errors(&self) -> &[FieldError] {
        match self {
            Self::ValidationFailed(errors) => errors,
            Self::BatchRejected { response, .. } => &response.field_errors,
            _ => &[],
        }
    }
}
