//! The only table from failure to HTTP: what a caller hears when something is wrong (SPEC 2.5, RFC 9457).
//!
//! It never says an internal, a value that the caller sent, or a key.

mod kind;

use lambda_http::http::HeaderValue;
use lambda_http::http::header::{ALLOW, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;

pub use kind::Kind;

use crate::auth::Denied;
use crate::request::Route;
use model::fault::{Fault, Warning};
use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::limits::{BODY_BYTES, GZIP_MEMBERS, SIGNALS_PER_REQUEST};
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
    /// The body breaks the contract as a whole.
    ValidationFailed(Vec<Fault>),
    /// No signal was accepted.
    NothingAccepted(Box<NothingAccepted>),
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
        retry_with: Option<RequestIdentifier>,
    },
}

/// The counts of a batch of which nothing was accepted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NothingAccepted {
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
    pub faults: Vec<Fault>,
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
            Denied::CannotTell(error) => Self::StorageUnavailable { error, retry_with: None },
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
    counts: Option<&'a NothingAccepted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    field_errors: &'a [Fault],
}

impl Problem {
    /// Which row of the table it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::MalformedJson(_) | Self::MalformedGzip | Self::TooManyGzipMembers => Kind::MALFORMED_JSON,
            Self::ValidationFailed(_) | Self::NothingAccepted(_) => Kind::VALIDATION_FAILED,
            Self::Unauthorized { .. } => Kind::UNAUTHORIZED,
            Self::NotFound => Kind::NOT_FOUND,
            Self::MethodNotAllowed(_) => Kind::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge { .. } => Kind::PAYLOAD_TOO_LARGE,
            Self::TooManySignals { .. } => Kind::TOO_MANY_SIGNALS,
            Self::UnsupportedMediaType(_) => Kind::UNSUPPORTED_MEDIA_TYPE,
            Self::RequestIdentifierReused => Kind::REQUEST_IDENTIFIER_REUSED,
            Self::CustomerTooLarge => Kind::CUSTOMER_TOO_LARGE,
            Self::InternalError => Kind::INTERNAL_ERROR,
            Self::StorageUnavailable { .. } => Kind::STORAGE_UNAVAILABLE,
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn body(&self, request_id: &str) -> String {
        let kind = self.kind();
        let detail = self.detail();
        let (counts, retry_with) = match self {
            Self::NothingAccepted(counts) => (Some(counts.as_ref()), None),
            Self::StorageUnavailable { retry_with, .. } => (None, retry_with.as_ref()),
            _ => (None, None),
        };
        let document = Document {
            r#type: format!("{TYPE_PREFIX}{}", kind.code),
            title: kind.title,
            status: kind.status,
            detail: &detail,
            message: &detail,
            code: kind.code,
            request_id,
            counts,
            request_identifier: retry_with.map(RequestIdentifier::as_sent),
            field_errors: self.faults(),
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
    pub fn faults(&self) -> &[Fault] {
        match self {
            Self::ValidationFailed(faults) => faults,
            Self::NothingAccepted(counts) => &counts.faults,
            _ => &[],
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::MalformedJson(JsonSyntaxError { reason, line, column }) => {
                format!("The body is not JSON: {reason} at line {line}, column {column}.")
            }
            Self::MalformedGzip => "The body is not gzip, although Content-Encoding says so.".to_owned(),
            Self::TooManyGzipMembers => format!("The gzip body has more than {GZIP_MEMBERS} members."),
            Self::ValidationFailed(faults) => match faults.as_slice() {
                [only] => only.message.clone(),
                several => format!("The body has {} faults; fieldErrors names each.", several.len()),
            },
            Self::NothingAccepted(counts) => {
                let NothingAccepted { invalid, received, .. } = counts.as_ref();
                let verb = if *invalid == 1 { "is" } else { "are" };
                let strict = if invalid < received { ", and strict handling was asked for" } else { "" };
                format!(
                    "Nothing was stored: {invalid} of {received} signals {verb} invalid{strict}. fieldErrors says what is wrong."
                )
            }
            Self::Unauthorized { .. } => "A valid API key is required: Authorization: Bearer <API key>.".to_owned(),
            Self::NotFound => "There is nothing at this path.".to_owned(),
            Self::MethodNotAllowed(route) => format!("Method not allowed. Use {}.", route.methods.join(" or ")),
            Self::PayloadTooLarge { sent: Some(sent) } => {
                format!("A body may have {BODY_BYTES} bytes; {sent} were sent.")
            }
            Self::PayloadTooLarge { sent: None } => {
                format!("A body may have {BODY_BYTES} bytes when unpacked; more were sent.")
            }
            Self::TooManySignals { sent } => {
                format!("A request may have {SIGNALS_PER_REQUEST} signals; {sent} were sent. Nothing was stored.")
            }
            Self::UnsupportedMediaType(sentence) => (*sentence).to_owned(),
            Self::RequestIdentifierReused => {
                "This requestIdentifier came with another body in the last 24 hours. Nothing was stored.".to_owned()
            }
            Self::CustomerTooLarge => {
                "With this change the customer would be larger than the 400 KB that can be stored. Nothing was changed."
                    .to_owned()
            }
            Self::InternalError => "Something went wrong here. The requestId helps to find out what.".to_owned(),
            Self::StorageUnavailable { retry_with: None, .. } => {
                format!("The storage cannot be reached. Try again in {RETRY_AFTER_SECONDS} s.")
            }
            Self::StorageUnavailable { retry_with: Some(_), .. } => format!(
                "The storage failed part-way. Try again in {RETRY_AFTER_SECONDS} s with the same body and this \
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
                r#"{"type":"urn:intake:problem:not-found","title":"There is nothing at this path","status":404,"#,
                r#""detail":"There is nothing at this path.","message":"There is nothing at this path.","#,
                r#""code":"not-found","requestId":"r1","fieldErrors":[]}"#
            )
        );
    }
}
