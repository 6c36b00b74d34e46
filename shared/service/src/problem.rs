//! The only table from failure to HTTP: what a caller hears when something is wrong (SPEC 2.5, RFC 9457).
//!
//! It never says an internal, a value that the caller sent, or a key.

mod problem_type;

use lambda_http::http::HeaderValue;
use lambda_http::http::header::{ALLOW, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;

pub use problem_type::ProblemType;

use crate::auth::Denied;
use crate::request::Route;
use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::limits::{MAX_BODY_BYTES, MAX_GZIP_MEMBERS, MAX_SIGNALS_PER_REQUEST};
use model::validation::{FieldError, Warning};
use store::StoreError;

/// What stands before the code in `type`.
pub const TYPE_PREFIX: &str = "urn:intake:problem:";

/// What `Retry-After` says with a 503, in seconds: long enough for DynamoDB to grow, short enough for a client that
/// gives up after 60 s.
pub const RETRY_AFTER_SECONDS: u16 = 2;

/// Why a request was not done.
#[derive(Debug)]
pub enum Problem {
    /// The body is not JSON.
    MalformedJson(JsonSyntaxError),
    /// The body says that it is gzip, and is not.
    MalformedGzip,
    /// The gzip body has more members than the limit.
    TooManyGzipMembers,
    /// The body as a whole is invalid.
    ValidationFailed(Vec<FieldError>),
    /// No signal was accepted.
    BatchRejected(Box<BatchRejected>),
    /// No, an ill-formed, an unknown, an expired or a revoked key.
    Unauthorized {
        /// Whether a key was sent at all.
        key_sent: bool,
    },
    /// No route has this path.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed(&'static Route),
    /// The body is over the limit.
    PayloadTooLarge {
        /// Its bytes; not known of one that was compressed, since it is not unpacked beyond the limit.
        sent: Option<usize>,
    },
    /// More signals than the limit.
    TooManySignals {
        /// How many.
        sent: usize,
    },
    /// A media type or an encoding that is not read here. A sentence says which are.
    UnsupportedMediaType(&'static str),
    /// The requestIdentifier came before with another body.
    RequestIdentifierReused,
    /// The profile would outgrow an item.
    CustomerTooLarge,
    /// A defect of this service.
    InternalError,
    /// DynamoDB could not be had.
    StorageUnavailable {
        /// Why, for the log.
        error: StoreError,
        /// What a retry is to be sent with, where it could be claimed.
        retry_identifier: Option<RequestIdentifier>,
    },
}

/// The counts of a batch of which nothing was accepted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRejected {
    /// The caller's, or one made for tracking.
    pub request_identifier: String,
    /// Signals in the request.
    pub received: usize,
    /// Always 0.
    pub accepted: usize,
    /// All of them.
    pub rejected: usize,
    /// How many of them are invalid: with strict handling one is enough to reject all.
    #[serde(skip)]
    pub invalid: usize,
    /// Always false: nothing was stored.
    pub replayed: bool,
    /// Members that are not in the contract: often what was meant by one that is missing.
    pub warnings: Vec<Warning>,
    /// What is wrong, in the problem's own place.
    #[serde(skip)]
    pub errors: Vec<FieldError>,
}

impl Problem {
    /// A defect of this service or of what it stored: logged here, since the caller does not hear of it.
    #[must_use]
    pub fn defect(error: &StoreError) -> Self {
        tracing::error!(%error, "defect");
        Self::InternalError
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::No { key_sent } => Self::Unauthorized { key_sent },
            Denied::CannotTell(error @ StoreError::Corrupt) => Self::defect(&error),
            Denied::CannotTell(error) => Self::StorageUnavailable { error, retry_identifier: None },
        }
    }
}

/// A problem as it stands in an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    message: &'a str,
    code: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    counts: Option<&'a BatchRejected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    field_errors: &'a [FieldError],
}

impl Problem {
    /// Which row of the table it is.
    #[must_use]
    pub fn problem_type(&self) -> ProblemType {
        match self {
            Self::MalformedJson(_) | Self::MalformedGzip | Self::TooManyGzipMembers => ProblemType::MALFORMED_JSON,
            Self::ValidationFailed(_) | Self::BatchRejected(_) => ProblemType::VALIDATION_FAILED,
            Self::Unauthorized { .. } => ProblemType::UNAUTHORIZED,
            Self::NotFound => ProblemType::NOT_FOUND,
            Self::MethodNotAllowed(_) => ProblemType::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge { .. } => ProblemType::PAYLOAD_TOO_LARGE,
            Self::TooManySignals { .. } => ProblemType::TOO_MANY_SIGNALS,
            Self::UnsupportedMediaType(_) => ProblemType::UNSUPPORTED_MEDIA_TYPE,
            Self::RequestIdentifierReused => ProblemType::REQUEST_IDENTIFIER_REUSED,
            Self::CustomerTooLarge => ProblemType::CUSTOMER_TOO_LARGE,
            Self::InternalError => ProblemType::INTERNAL_ERROR,
            Self::StorageUnavailable { .. } => ProblemType::STORAGE_UNAVAILABLE,
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn body(&self, request_id: &str) -> String {
        let problem_type = self.problem_type();
        let detail = self.detail();
        let (counts, retry_identifier) = match self {
            Self::BatchRejected(counts) => (Some(counts.as_ref()), None),
            Self::StorageUnavailable { retry_identifier, .. } => (None, retry_identifier.as_ref()),
            _ => (None, None),
        };
        let document = Document {
            r#type: format!("{TYPE_PREFIX}{}", problem_type.code),
            title: problem_type.title,
            status: problem_type.status,
            detail: &detail,
            message: &detail,
            code: problem_type.code,
            request_id,
            counts,
            request_identifier: retry_identifier.map(RequestIdentifier::as_sent),
            field_errors: self.errors(),
        };
        // A structure of strings and numbers always serializes.
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// The headers that a problem of this kind has beside those of every answer.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let header = match self {
            Self::Unauthorized { key_sent: false } => {
                Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"intake\"")))
            }
            Self::Unauthorized { key_sent: true } => {
                Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"intake\", error=\"invalid_token\"")))
            }
            Self::MethodNotAllowed(route) => HeaderValue::try_from(route.allow()).ok().map(|value| (ALLOW, value)),
            Self::StorageUnavailable { .. } => Some((RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS))),
            _ => None,
        };
        header.into_iter().collect()
    }

    /// What is wrong, place by place.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::ValidationFailed(errors) => errors,
            Self::BatchRejected(counts) => &counts.errors,
            _ => &[],
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::MalformedJson(JsonSyntaxError { reason, line, column }) => {
                format!("The body is not JSON: {reason} at line {line}, column {column}.")
            }
            Self::MalformedGzip => "The body is not gzip, although Content-Encoding says so.".to_owned(),
            Self::TooManyGzipMembers => format!("The gzip body has more than {MAX_GZIP_MEMBERS} members."),
            Self::ValidationFailed(errors) => match errors.as_slice() {
                [only] => only.message.clone(),
                several => format!("The body has {} errors; fieldErrors names each.", several.len()),
            },
            Self::BatchRejected(counts) => {
                let BatchRejected { invalid, received, .. } = counts.as_ref();
                let verb = if *invalid == 1 { "is" } else { "are" };
                let strict = if invalid < received { " and Prefer: handling=strict was set" } else { "" };
                format!(
                    "Nothing was stored: {invalid} of {received} signals {verb} invalid{strict}. fieldErrors says what is wrong."
                )
            }
            Self::Unauthorized { .. } => "A valid API key is required: Authorization: Bearer <API key>.".to_owned(),
            Self::NotFound => "No such endpoint.".to_owned(),
            Self::MethodNotAllowed(route) => format!("Method not allowed. Use {}.", route.methods.join(" or ")),
            Self::PayloadTooLarge { sent: Some(sent) } => {
                format!("Request body too large: {sent} bytes, limit {MAX_BODY_BYTES}.")
            }
            Self::PayloadTooLarge { sent: None } => {
                format!("Decompressed body exceeds {MAX_BODY_BYTES} bytes.")
            }
            Self::TooManySignals { sent } => {
                format!("Too many signals: {sent}, limit {MAX_SIGNALS_PER_REQUEST}. Nothing was stored.")
            }
            Self::UnsupportedMediaType(sentence) => (*sentence).to_owned(),
            Self::RequestIdentifierReused => {
                "This requestIdentifier was used with another body in the last 24 hours. Nothing was stored.".to_owned()
            }
            Self::CustomerTooLarge => {
                "This update would make the customer larger than 400 KB, the largest that can be stored. Nothing was changed."
                    .to_owned()
            }
            Self::InternalError => "Internal error. Quote requestId when reporting it.".to_owned(),
            Self::StorageUnavailable { retry_identifier: None, .. } => {
                format!("Storage temporarily unavailable. Retry after {RETRY_AFTER_SECONDS} seconds.")
            }
            Self::StorageUnavailable { retry_identifier: Some(_), .. } => format!(
                "Storage failed part-way. Retry after {RETRY_AFTER_SECONDS} seconds with the same body and this \
                 requestIdentifier, so that nothing is stored twice."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_every_member_that_clients_parse() {
        let body = Problem::NotFound.body("r1");
        assert_eq!(
            body,
            concat!(
                r#"{"type":"urn:intake:problem:not-found","title":"No such endpoint","status":404,"#,
                r#""detail":"No such endpoint.","message":"No such endpoint.","#,
                r#""code":"not-found","requestId":"r1","fieldErrors":[]}"#
            )
        );
    }
}
