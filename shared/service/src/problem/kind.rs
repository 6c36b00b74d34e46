//! The rows of the table: status, code and title of each kind of problem (SPEC 2.5). Why one comes up, it does not know.

/// A kind of problem: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The HTTP status.
    pub status: u16,
    /// The code, which is also the end of `type`.
    pub code: &'static str,
    /// The same for every problem of the kind.
    pub title: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $status:literal $code:literal $title:literal;)*) => {
        impl Kind {
            $(#[doc = $title] pub const $name: Self = Self { status: $status, code: $code, title: $title };)*

            /// The whole table, in SPEC's order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

kinds! {
    MALFORMED_JSON = 400 "malformed-json" "The body is not JSON";
    VALIDATION_FAILED = 400 "validation-failed" "The body breaks the contract";
    UNAUTHORIZED = 401 "unauthorized" "A valid API key is required";
    NOT_FOUND = 404 "not-found" "There is nothing at this path";
    METHOD_NOT_ALLOWED = 405 "method-not-allowed" "This path has no such method";
    PAYLOAD_TOO_LARGE = 413 "payload-too-large" "The body is too large";
    TOO_MANY_SIGNALS = 413 "too-many-signals" "The request has too many signals";
    UNSUPPORTED_MEDIA_TYPE = 415 "unsupported-media-type" "The body is of a kind that is not read here";
    REQUEST_IDENTIFIER_REUSED = 422 "request-identifier-reused" "This requestIdentifier belongs to another request";
    CUSTOMER_TOO_LARGE = 422 "customer-too-large" "The customer would become too large to store";
    INTERNAL_ERROR = 500 "internal-error" "Something went wrong here";
    STORAGE_UNAVAILABLE = 503 "storage-unavailable" "The storage cannot be reached";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_share_a_code() {
        let mut codes: Vec<_> = Kind::ALL.iter().map(|kind| kind.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Kind::ALL.len());
    }
}
