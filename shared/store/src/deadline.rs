//! How long DynamoDB may take.

use std::time::Duration;

use model::deadline::{Deadline, DeadlineExceeded};

/// The longest that a request may take. API Gateway waits 30 s and clients 60 s; a call to DynamoDB that has failed for ten
/// seconds is unlikely to succeed in the next ones.
pub const MAX_REQUEST_DURATION: Duration = Duration::from_secs(10);

/// The longest that the writes of one request may take: the idempotency record and the signals together, or the update of a
/// customer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs `work` until `deadline`, and then drops it.
///
/// # Errors
/// When it did not end before.
pub fn before<T>(
    deadline: Deadline,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineExceeded>> {
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let work = Box::pin(work);
    async move { tokio::time::timeout_at(deadline.until().into(), work).await.map_err(|_| DeadlineExceeded) }
}

/// Yields once, so that hyper can return the connection to its pool before the next call needs one. It costs a round of the
/// async runtime, so it is only used where a call follows.
pub(crate) async fn yield_for_connection_reuse() {
    tokio::task::yield_now().await;
}
