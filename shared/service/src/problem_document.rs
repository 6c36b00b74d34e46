//! How a problem is written: body and headers (docs/api.md, Errors; RFC 9457).
//!
//! A response never contains an internal, a value that the client sent, or a key.

use lambda_http::http::HeaderValue;
use lambda_http::http::header::{ACCEPT_ENCODING, ALLOW, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use model::identifier::RequestIdentifier;
use model::json::JsonSyntaxError;
use model::limits::{MAX_BODY_BYTES, MAX_GZIP_MEMBERS};
use model::validation::FieldError;
use serde::Serialize;

use crate::problem::{
    BodyEncoding, GzipFault, Problem, ProblemType, Unauthorized, UnauthorizedReason,
};

/// The prefix of `type`; the code follows.
pub const TYPE_PREFIX: &str = "urn:intake:problem:";

/// The `Retry-After` of a 503, in seconds: long enough for DynamoDB to add capacity, short enough
/// for a client whose timeout is 60 s.
pub const RETRY_AFTER_SECONDS: u16 = 2;

/// How every 401 begins.
const KEY_REQUIRED: &str = "A valid API key is required: Authorization: Bearer <API key>";

/// The body of a problem (RFC 9457, section 3), with `message`, `code` and `requestId` for existing
/// clients. `fieldErrors`, which they need too, are among the further members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDocument<'a, M> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    message: String,
    code: &'static str,
    request_id: &'a str,
    #[serde(flatten)]
    members: M,
}

/// The further members of a problem to which its endpoint adds none of its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemMembers<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    field_errors: &'a [FieldError],
}

impl<'a, M> ProblemDocument<'a, M> {
    /// The body for the invocation with this id.
    pub fn new(problem_type: ProblemType, detail: String, request_id: &'a str, members: M) -> Self {
        let ProblemType {
            status,
            code,
            title,
        } = problem_type;
        Self {
            r#type: format!("{TYPE_PREFIX}{code}"),
            title,
            status,
            message: detail.clone(),
            detail,
            code,
            request_id,
            members,
        }
    }

    pub fn status(&self) -> u16 {
        self.status
    }
}

/// The body of `problem` for the invocation with this id.
pub fn document<'a>(
    problem: &'a Problem,
    request_id: &'a str,
) -> ProblemDocument<'a, ProblemMembers<'a>> {
    let retry_identifier = match problem {
        Problem::StorageUnavailable {
            retry_identifier, ..
        } => retry_identifier.as_ref(),
        _ => None,
    };
    let members = ProblemMembers {
        request_identifier: retry_identifier.map(RequestIdentifier::as_sent),
        field_errors: problem.field_errors(),
    };
    ProblemDocument::new(problem.problem_type(), detail(problem), request_id, members)
}

/// The headers of the response to this problem.
pub fn headers(problem: &Problem) -> HeaderMap {
    let header = match problem {
        Problem::Unauthorized(Unauthorized {
            reason: UnauthorizedReason::Missing,
            ..
        }) => Some((
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
        // RFC 9110, section 15.5.16: it tells a wrong encoding from a wrong media type.
        Problem::UnsupportedContentEncoding { .. } => {
            Some((ACCEPT_ENCODING, HeaderValue::from_static("gzip")))
        }
        Problem::StorageUnavailable { .. } => {
            Some((RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS)))
        }
        _ => None,
    };
    header.into_iter().collect()
}

fn detail(problem: &Problem) -> String {
    match problem {
        Problem::MalformedJson(JsonSyntaxError {
            reason,
            line,
            column,
        }) => {
            format!("The body is not JSON: {reason} at line {line}, column {column}.")
        }
        Problem::WrongEncoding(BodyEncoding::Gzip) => {
            "The body is not JSON: it is gzip without the header Content-Encoding: gzip.".to_owned()
        }
        Problem::WrongEncoding(BodyEncoding::GzipInsideGzip) => {
            "The body is not JSON: it is gzip inside gzip.".to_owned()
        }
        Problem::WrongEncoding(BodyEncoding::Utf16) => {
            "The body is not JSON: it begins with a byte order mark of UTF-16, not UTF-8."
                .to_owned()
        }
        Problem::MalformedGzip(GzipFault::NotGzip) => {
            "The body is not gzip, although Content-Encoding says so.".to_owned()
        }
        Problem::MalformedGzip(GzipFault::Followed) => {
            "The gzip body is followed by bytes that are not gzip.".to_owned()
        }
        Problem::MalformedGzip(GzipFault::CutOff) => {
            "The gzip body is cut off: it ends before its compressed data do.".to_owned()
        }
        Problem::MalformedGzip(GzipFault::Damaged) => {
            "The gzip body is damaged: it cannot be decompressed.".to_owned()
        }
        Problem::TooManyGzipMembers => {
            format!("The gzip body has more than {MAX_GZIP_MEMBERS} members.")
        }
        Problem::ValidationFailed(errors)
        | Problem::RefusedByStore {
            field_errors: errors,
            ..
        } => match errors.as_slice() {
            [only] => only.message.clone(),
            several => format!("{} validation errors; see fieldErrors.", several.len()),
        },
        Problem::Unauthorized(Unauthorized { fault, .. }) => match fault {
            Some(fault) => format!("{KEY_REQUIRED}; {fault}."),
            None => format!("{KEY_REQUIRED}."),
        },
        Problem::Forbidden => "This API key is restricted to another endpoint.".to_owned(),
        Problem::NotFound => "No such endpoint.".to_owned(),
        Problem::MethodNotAllowed(route) => {
            format!("Method not allowed. Use {}.", route.methods.join(" or "))
        }
        Problem::PayloadTooLarge { sent: Some(sent) } => {
            format!("Request body too large: {sent} bytes, limit {MAX_BODY_BYTES}.")
        }
        Problem::PayloadTooLarge { sent: None } => {
            format!("Decompressed body exceeds {MAX_BODY_BYTES} bytes.")
        }
        Problem::UnsupportedMediaType { is_repeated } => {
            let end = repetition(*is_repeated);
            format!("Content-Type must be application/json{end}.")
        }
        Problem::UnsupportedContentEncoding { is_repeated } => {
            let end = repetition(*is_repeated);
            format!("Content-Encoding must be gzip or identity{end}.")
        }
        Problem::EndpointRule { detail, .. } => detail.clone(),
        Problem::InternalError(_) => {
            "Internal error. Quote requestId when reporting it.".to_owned()
        }
        Problem::StorageUnavailable {
            retry_identifier: None,
            ..
        } => {
            format!("Storage temporarily unavailable. Retry after {RETRY_AFTER_SECONDS} seconds.")
        }
        Problem::StorageUnavailable {
            retry_identifier: Some(_),
            ..
        } => format!(
            "Not all signals could be stored. Retry after {RETRY_AFTER_SECONDS} seconds with this requestIdentifier and \
             an otherwise unchanged body."
        ),
    }
}

/// The end of a sentence about a header that must be sent once.
fn repetition(is_repeated: bool) -> &'static str {
    if is_repeated {
        "; it was sent more than once"
    } else {
        ""
    }
}
