//! The clean start of a test of a client. Must not know how exchanges and items are kept.

use std::sync::Arc;

use axum::extract::State;

use super::Shared;
use super::query::{NoParameters, Parameters};
use super::requests::clear;
use super::response::Answered;

/// Deletes everything but the keys: the messages of the queue, the items and the exchanges.
pub(super) async fn reset(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> Answered {
    // While this guard is held, no drain stores anything.
    let _guard = match &inspector.queue {
        Some(queue) => Some(queue.empty().await),
        None => None,
    };
    inspector.stored.clear()?;
    let all = Parameters(NoParameters {});
    clear(State(Arc::clone(&inspector)), all).await
}
