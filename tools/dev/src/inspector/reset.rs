//! The clean start of a test of a client. Must not know how exchanges and items are kept.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::Response;

use super::Shared;
use super::query::NoParameters;
use super::requests::clear;
use super::response::json_text_response;

/// Deletes everything but the keys: the messages of the queue, the items and the exchanges.
pub(super) async fn reset(
    State(inspector): Shared,
    Query(NoParameters {}): Query<NoParameters>,
) -> Response<Body> {
    // While this guard is held, no drain stores anything.
    let _guard = match &inspector.queue {
        Some(queue) => Some(queue.empty().await),
        None => None,
    };
    match inspector.stored.clear() {
        Ok(()) => clear(State(Arc::clone(&inspector)), Query(NoParameters {})).await,
        Err(error) => json_text_response(Err(error)),
    }
}
