//! Problems: why a request failed (docs/api.md, Errors). Every error of a function becomes one. Those
//! that only one endpoint knows are made in its crate.
//!
//! This module must not know how a problem is written: see [`crate::problem_document`].

mod problem_type;

use std::fmt;

use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::key_entry::KeyStatus;
use model::validation::FieldError;
use store::error::{StoreError, UnstoredReason};

pub use self::problem_type::ProblemType;
use crate::route::Route;

/// Why a request failed; each becomes one response.
#[derive(Debug)]
pub enum Problem {
    /// The body is not JSON.
    MalformedJson(JsonSyntaxError),
    /// The body is not UTF-8, because it is in another encoding.
    WrongEncoding(BodyEncoding),
    /// Content-Encoding is gzip, and the body cannot be decompressed.
    MalformedGzip(GzipFault),
    /// The gzip body has more members than the limit.
    TooManyGzipMembers,
    /// The body as a whole is invalid.
    ValidationFailed(Vec<FieldError>),
    /// The values of the body were refused for good, although they passed every check.
    RefusedByStore {
        /// For the log: the response does not say it.
        reason: UnstoredReason,
        field_errors: Vec<FieldError>,
    },
    /// The request has no valid API key.
    Unauthorized(Unauthorized),
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
    /// The Content-Type is not JSON.
    UnsupportedMediaType {
        /// Whether the header was sent more than once.
        is_repeated: bool,
    },
    /// The Content-Encoding is not a supported one.
    UnsupportedContentEncoding {
        /// Whether the header was sent more than once.
        is_repeated: bool,
    },
    /// The request breaks a rule that only its endpoint knows.
    EndpointRule {
        /// The endpoint's own type.
        problem_type: ProblemType,
        /// A sentence without a value of the client.
        detail: String,
    },
    /// A defect of this service: the error of a call whose values it made itself, or a panic, which
    /// has a line in the log.
    InternalError(Option<UnstoredReason>),
    /// DynamoDB is unavailable, and nothing could be deferred.
    StorageUnavailable {
        /// For the log: the response does not say it.
        reason: UnstoredReason,
        /// The requestIdentifier to retry with, if there is an idempotency record for it.
        retry_identifier: Option<RequestIdentifier>,
    },
}

/// The encoding of a body that should be UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEncoding {
    /// Gzip, without the header Content-Encoding.
    Gzip,
    /// Gzip that holds gzip.
    GzipInsideGzip,
    /// It begins with a byte order mark of UTF-16.
    Utf16,
}

/// Why a body cannot be decompressed (RFC 1952).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GzipFault {
    /// It does not begin as gzip does.
    NotGzip,
    /// Something else follows the gzip.
    Followed,
    /// It ends before the gzip does.
    CutOff,
    /// The compressed data or their checksum are wrong.
    Damaged,
}

/// Why a request has no valid API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unauthorized {
    /// For the log: the response does not say it.
    pub reason: UnauthorizedReason,
    /// What is wrong with the header, whichever keys there are. The response says it.
    pub fault: Option<AuthorizationFault>,
}

/// Why a request has no valid API key. The log says it and the response does not (docs/api.md,
/// Errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnauthorizedReason {
    /// There is no header `Authorization: Bearer <key>`.
    Missing,
    /// The key is not one word of visible ASCII.
    Malformed,
    /// The key table does not have the key.
    Unknown,
    /// The `expiresAt` of the key has passed.
    Expired,
    /// An operator revoked the key.
    Revoked,
}

impl UnauthorizedReason {
    /// The word that the log shows.
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

/// What is wrong with the form of the header `Authorization`. It is displayed as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationFault {
    /// There is no such header.
    NoHeader,
    /// It has a key, or nothing, and no scheme.
    NoScheme,
    /// Its scheme is not Bearer.
    OtherScheme,
    /// Nothing follows the scheme.
    NoKey,
    /// API Gateway joined two headers by a comma.
    Repeated,
    /// The scheme follows the scheme.
    TwoSchemes,
    /// A key is one word of visible ASCII.
    NotVisible,
    /// There are quotation marks around the key. A key may have some, so this alone refuses none.
    Quoted,
}

impl AuthorizationFault {
    /// The word of the log about a request that was refused for it before any look-up.
    pub(crate) fn reason(self) -> UnauthorizedReason {
        match self {
            Self::NoHeader | Self::NoScheme | Self::OtherScheme | Self::NoKey => {
                UnauthorizedReason::Missing
            }
            Self::Repeated | Self::TwoSchemes | Self::NotVisible | Self::Quoted => {
                UnauthorizedReason::Malformed
            }
        }
    }
}

impl fmt::Display for AuthorizationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHeader => "the request has no Authorization header",
            Self::NoScheme => "the Authorization header has no scheme: write Bearer before the key",
            Self::OtherScheme => "the scheme of the Authorization header is not Bearer",
            Self::NoKey => "the Authorization header has no key after Bearer",
            Self::Repeated => "the Authorization header was sent more than once",
            Self::TwoSchemes => "the Authorization header has Bearer twice",
            Self::NotVisible => "the key has a space in it, or another character that no key has",
            Self::Quoted => "there are quotation marks around the key",
        })
    }
}

/// The error of a call whose values this service made itself: if DynamoDB finds them invalid, that
/// is a defect.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::StorageUnavailable {
                reason: error.into(),
                retry_identifier: None,
            },
            StoreError::Invalid
            | StoreError::ItemTooLarge
            | StoreError::CallTooLarge
            | StoreError::Corrupt
            | StoreError::Unserializable => Self::InternalError(Some(error.into())),
        }
    }
}

impl Problem {
    /// The type, which has the status and the code.
    pub fn problem_type(&self) -> ProblemType {
        match self {
            Self::MalformedJson(_)
            | Self::WrongEncoding(_)
            | Self::MalformedGzip(_)
            | Self::TooManyGzipMembers => ProblemType::MALFORMED_JSON,
            Self::ValidationFailed(_) | Self::RefusedByStore { .. } => {
                ProblemType::VALIDATION_FAILED
            }
            Self::Unauthorized(_) => ProblemType::UNAUTHORIZED,
            Self::Forbidden => ProblemType::FORBIDDEN,
            Self::NotFound => ProblemType::NOT_FOUND,
            Self::MethodNotAllowed(_) => ProblemType::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge { .. } => ProblemType::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType { .. } | Self::UnsupportedContentEncoding { .. } => {
                ProblemType::UNSUPPORTED_MEDIA_TYPE
            }
            Self::EndpointRule { problem_type, .. } => *problem_type,
            Self::InternalError(_) => ProblemType::INTERNAL_ERROR,
            Self::StorageUnavailable { .. } => ProblemType::STORAGE_UNAVAILABLE,
        }
    }

    /// Why nothing is stored, for the log: the response does not say it.
    pub fn unstored_reason(&self) -> Option<&UnstoredReason> {
        match self {
            Self::RefusedByStore { reason, .. }
            | Self::StorageUnavailable { reason, .. }
            | Self::InternalError(Some(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The validation errors, which are the entries of `fieldErrors`.
    pub fn field_errors(&self) -> &[FieldError] {
        match self {
            Self::ValidationFailed(errors)
            | Self::RefusedByStore {
                field_errors: errors,
                ..
            } => errors,
            _ => &[],
        }
    }
}
