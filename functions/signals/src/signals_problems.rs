//! The problems that only this endpoint has (docs/api.md, Errors).

use model::batch::BatchError;
use model::limits::MAX_SIGNALS_PER_REQUEST;
use service::problem::{Problem, ProblemType};

/// More signals than the limit.
pub const TOO_MANY_SIGNALS: ProblemType = ProblemType {
    status: 413,
    code: "too-many-signals",
    title: "Too many signals",
};

/// The requestIdentifier was used with another body.
pub const REQUEST_IDENTIFIER_REUSED: ProblemType = ProblemType {
    status: 422,
    code: "request-identifier-reused",
    title: "requestIdentifier already used",
};

/// The types of these problems, in the order of docs/api.md.
pub const PROBLEM_TYPES: [ProblemType; 2] = [TOO_MANY_SIGNALS, REQUEST_IDENTIFIER_REUSED];

/// The problem of an envelope that is invalid.
pub(crate) fn from_batch(error: BatchError) -> Problem {
    match error {
        BatchError::Invalid(errors) => Problem::ValidationFailed(errors),
        BatchError::TooManySignals { sent } => Problem::EndpointRule {
            problem_type: TOO_MANY_SIGNALS,
            detail: format!(
                "Too many signals: {sent}, limit {MAX_SIGNALS_PER_REQUEST}. Nothing was stored."
            ),
        },
    }
}

/// The problem of [`REQUEST_IDENTIFIER_REUSED`].
pub(crate) fn request_identifier_reused() -> Problem {
    Problem::EndpointRule {
        problem_type: REQUEST_IDENTIFIER_REUSED,
        detail:
            "This requestIdentifier was used with another body in the last 24 hours. Nothing was \
                 stored."
                .to_owned(),
    }
}
