//! Headers of a request that have no effect, although the client relies on them (docs/api.md,
//! Warnings).

use lambda_http::http::HeaderMap;
use model::batch::Batch;
use model::validation::Warning;
use service::prefer::Handling;

/// The header with which other services make a retry safe.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Adds a warning to the batch for each of these headers.
pub(crate) fn add_warnings(headers: &HeaderMap, handling: Handling, batch: &mut Batch<'_>) {
    if handling == Handling::NotUnderstood {
        let predicate =
            "was ignored: its only known values are handling=strict and handling=lenient";
        batch
            .warnings
            .push(Warning::ignored_header("Prefer", predicate));
    }
    if batch.request_identifier.is_none() && headers.contains_key(IDEMPOTENCY_KEY) {
        let predicate =
            "was ignored: send a requestIdentifier in the body, which makes a retry safe";
        let warning = Warning::ignored_header("Idempotency-Key", predicate);
        batch.warnings.push(warning);
    }
}
