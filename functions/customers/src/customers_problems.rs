//! The problems that only this endpoint has (docs/api.md, Errors).

use model::pointer::JsonPointer;
use model::validation::FieldError;
use service::problem::{Problem, ProblemType};
use store::error::StoreError;

/// The customer would become larger than an item may be.
pub const CUSTOMER_TOO_LARGE: ProblemType = ProblemType {
    status: 422,
    code: "customer-too-large",
    title: "Customer too large",
};

/// The types of these problems, in the order of docs/api.md.
pub const PROBLEM_TYPES: [ProblemType; 1] = [CUSTOMER_TOO_LARGE];

/// The problem of [`CUSTOMER_TOO_LARGE`].
pub fn customer_too_large() -> Problem {
    Problem::EndpointRule {
        problem_type: CUSTOMER_TOO_LARGE,
        detail: "Customer too large: with this update, the item would exceed 400 KB. Nothing was \
                 changed."
            .to_owned(),
    }
}

/// The error of a call with the values of a customer. If DynamoDB finds them invalid although they
/// passed every check, the client is told.
pub(crate) fn from_upsert(error: StoreError) -> Problem {
    match error {
        StoreError::ItemTooLarge => customer_too_large(),
        StoreError::Invalid | StoreError::CallTooLarge => {
            let data = JsonPointer::Member(&JsonPointer::Root, "customerData");
            Problem::RefusedByStore {
                reason: error.into(),
                field_errors: vec![FieldError::refused_by_store(&data)],
            }
        }
        error => error.into(),
    }
}
