//! The problem types that every endpoint has: status, code and title of each (docs/api.md, Errors).
//! Each endpoint adds the types of its own rules. This module must not know when one occurs.

/// A problem type (RFC 9457, section 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemType {
    /// The HTTP status, from 400 to 503.
    pub status: u16,
    /// The code, which is also the end of `type`.
    pub code: &'static str,
    /// The title, the same for every problem of this type.
    pub title: &'static str,
}

macro_rules! problem_types {
    ($($name:ident = $status:literal $code:literal $title:literal;)*) => {
        impl ProblemType {
            $(#[doc = $title] pub const $name: Self = Self { status: $status, code: $code, title: $title };)*

            /// All of these, in the order of docs/api.md.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

problem_types! {
    MALFORMED_JSON = 400 "malformed-json" "The body is not JSON";
    VALIDATION_FAILED = 400 "validation-failed" "Validation failed";
    UNAUTHORIZED = 401 "unauthorized" "A valid API key is required";
    FORBIDDEN = 403 "forbidden" "This API key may not be used here";
    NOT_FOUND = 404 "not-found" "No such endpoint";
    METHOD_NOT_ALLOWED = 405 "method-not-allowed" "Method not allowed";
    PAYLOAD_TOO_LARGE = 413 "payload-too-large" "Request body too large";
    UNSUPPORTED_MEDIA_TYPE = 415 "unsupported-media-type" "Unsupported media type or content encoding";
    INTERNAL_ERROR = 500 "internal-error" "Internal error";
    STORAGE_UNAVAILABLE = 503 "storage-unavailable" "Storage temporarily unavailable";
}
