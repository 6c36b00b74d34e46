//! How a problem is written: body and headers (docs/api.md, Errors; RFC 9457).
//!
//! A response never contains an internal, a value that the client sent, or a key.

use lambda_http::http::HeaderValue;
use lambda_http::http::header::{ALLOW, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::limits::{MAX_BODY_BYTES, MAX_GZIP_MEMBERS, MAX_SIGNALS_PER_REQUEST};
use model::validation::FieldError;
use serde::Serialize;

use crate::problem::{Problem, ProblemType, UnauthorizedReason};
use crate::success::BatchResponse;

/// The prefix of `type`; the code follows.
pub const TYPE_PREFIX: &str = "urn:intake:problem:";

/// The `Retry-After` of a 503, in seconds: long enough for DynamoDB to add capacity, short enough
/// for a client that gives up after 60 s.
pub const RETRY_AFTER_SECONDS: u16 = 2;

/// The body of a problem (RFC 9457, section 3), with `message`, `code`, `requestId` and
/// `fieldErrors` for existing clients.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDocument<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    message: String,
    code: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_errors: Option<&'a [FieldError]>,
    #[serde(flatten)]
    batch: Option<&'a BatchResponse>,
}

impl<'a> ProblemDocument<'a> {
    /// The body for the invocation with this id.
    pub fn new(problem: &'a Problem, request_id: &'a str) -> Self {
        let ProblemType {
            status,
            code,
            title,
        } = problem.problem_type();
        let detail = detail(problem);
        let (batch, retry_identifier) = match problem {
            Problem::BatchRejected { response, .. } => (Some(response.as_ref()), None),
            Problem::StorageUnavailable {
                retry_identifier, ..
            } => (None, retry_identifier.as_ref()),
            _ => (None, None),
        };
        Self {
            r#type: format!("{TYPE_PREFIX}{code}"),
            title,
            status,
            message: detail.clone(),
            detail,
            code,
            request_id,
            request_identifier: retry_identifier.map(RequestIdentifier::as_sent),
            // A batch has them itself.
            field_errors: batch.is_none().then(|| problem.field_errors()),
            batch,
        }
    }
}

/// The headers of the response to this problem.
pub fn headers(problem: &Problem) -> HeaderMap {
    let header = match problem {
        Problem::Unauthorized(UnauthorizedReason::Missing) => Some((
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"intake\""),
        )),
        Problem::Unauthorized(_) => Some((
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"intake\", error=\"invalid_token\""),
        )),
        Problem::MethodNotAllowed(route) => Some((
            ALLOW,
            HeaderValue::try_from(route.allow()).expect("the names of methods are ASCII"),
        )),
        Problem::StorageUnavailable { .. } => {
            Some((RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS)))
        }
        _ => None,
    };
    header.into_iter().collect()
}

fn detail(problem: &Problem) -> String {
    match problem {
        Problem::MalformedJson(JsonSyntaxError { reason, line, column }) => {
            format!("The body is not JSON: {reason} at line {line}, column {column}.")
        }
        Problem::MalformedGzip => "The body is not gzip, although Content-Encoding says so.".to_owned(),
        Problem::TooManyGzipMembers => format!("The gzip body has more than {MAX_GZIP_MEMBERS} members."),
        Problem::ValidationFailed(errors) => match errors.as_slice() {
            [only] => only.message.clone(),
            several => format!("{} validation errors; see fieldErrors.", several.len()),
        },
        Problem::BatchRejected { response, invalid } => {
            let received = response.counts.received;
            let verb = if *invalid == 1 { "is" } else { "are" };
            let strict = if *invalid < received { " and Prefer: handling=strict was set" } else { "" };
            format!(
                "Nothing was stored: {invalid} of {received} signals {verb} invalid{strict}. fieldErrors says what is wrong."
            )
        }
        Problem::Unauthorized(_) => "A valid API key is required: Authorization: Bearer <API key>.".to_owned(),
        Problem::Forbidden => "This API key is restricted to another endpoint.".to_owned(),
        Problem::NotFound => "No such endpoint.".to_owned(),
        Problem::MethodNotAllowed(route) => format!("Method not allowed. Use {}.", route.methods.join(" or ")),
        Problem::PayloadTooLarge { sent: Some(sent) } => {
            format!("Request body too large: {sent} bytes, limit {MAX_BODY_BYTES}.")
        }
        Problem::PayloadTooLarge { sent: None } => {
            format!("Decompressed body exceeds {MAX_BODY_BYTES} bytes.")
        }
        Problem::TooManySignals { sent } => {
            format!("Too many signals: {sent}, limit {MAX_SIGNALS_PER_REQUEST}. Nothing was stored.")
        }
        Problem::UnsupportedMediaType(sentence) => (*sentence).to_owned(),
        Problem::RequestIdentifierReused => {
            "This requestIdentifier was used with another body in the last 24 hours. Nothing was stored.".to_owned()
        }
        Problem::CustomerTooLarge => {
            "Customer too large: the update would exceed 400 KB. Nothing was changed.".to_owned()
        }
        Problem::InternalError(_) => "Internal error. Quote requestId when reporting it.".to_owned(),
        Problem::StorageUnavailable { retry_identifier: None, .. } => {
            format!("Storage temporarily unavailable. Retry after {RETRY_AFTER_SECONDS} seconds.")
        }
        Problem::StorageUnavailable { retry_identifier: Some(_), .. } => format!(
            "Storage failed part-way. Retry after {RETRY_AFTER_SECONDS} seconds with this requestIdentifier in the body and \
             nothing else changed."
        ),
    }
}
