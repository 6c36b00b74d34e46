//! How a call to DynamoDB is repeated: one rule for every call. The SDK never repeats a call; this
//! module does.
//!
//! - If a call has no response for a while, the same call is made on another connection, and the first
//!   response counts: a hedged request.
//! - If a call fails transiently, it is made again after a wait with full jitter, until the deadline.
//!
//! Nothing is remembered from one request to the next. This module must not know what a call reads or
//! writes.

use std::pin::Pin;
use std::time::Duration;

use aws::call_error::CallError;
use aws::deadline::{Deadline, run_until};
use aws::dynamodb::UNRESPONSIVE_TIMEOUT;
use futures_util::future::{Either, select};
use tokio::sync::Semaphore;

use crate::error::StoreError;

/// The longest that a request may take. API Gateway waits 30 s and clients 60 s; a call to DynamoDB
/// that has failed for ten seconds is unlikely to succeed in the next ones. The functions end their
/// requests by it, and an operator's command waits this long for the requests under way.
pub const MAX_REQUEST_DURATION: Duration = Duration::from_secs(10);

/// How long DynamoDB has for the response to a call before the call is hedged. DynamoDB responds within
/// tens of milliseconds even at its slowest percentiles. The HTTP client abandons its connections
/// earlier ([`UNRESPONSIVE_TIMEOUT`]), so the hedged request has a new connection.
const HEDGE_AFTER: Duration = Duration::from_millis(500);

const _: () = assert!(HEDGE_AFTER.as_millis() > UNRESPONSIVE_TIMEOUT.as_millis());

/// The most hedged requests at the same time for the signals of a request, and for its rejected ones.
/// Without a limit, a process that lacks processor time, and so reads its responses late, would do all
/// of its work twice.
const MAX_HEDGED_REQUESTS: usize = 4;

/// The bound of the first wait between two calls; doubled with each wait that follows.
const FIRST_WAIT: Duration = Duration::from_millis(25);

/// The longest bound of a wait. With a longer one, a request could still wait when a short burst of
/// errors has ended, until its own deadline.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Makes a call until it succeeds, it fails for good, or the deadline has passed. `call` may take effect
/// twice, so it must be idempotent.
///
/// # Errors
/// The error of the last call, or [`CallError::DeadlineExceeded`].
pub async fn repeat<T, F>(deadline: Deadline, call: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let hedge_limit = HedgeLimit::default();
    let mut backoff = Backoff::default();
    loop {
        let outcome = call_hedged(deadline, &hedge_limit, &call).await;
        let Err(error) = &outcome else {
            return outcome;
        };
        if !error.is_transient() {
            return outcome;
        }
        let has_time = backoff.wait(deadline).await;
        if !has_time {
            return outcome;
        }
    }
}

/// Makes a call, and a hedged request if there is no response for a while. Returns the first response that is
/// not a transient failure. While the first call has no response, the hedged request is repeated.
///
/// # Errors
/// The error of the call, or [`CallError::DeadlineExceeded`].
pub(crate) async fn call_hedged<T, F>(
    deadline: Deadline,
    hedge_limit: &HedgeLimit,
    call: impl Fn() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let mut first = Box::pin(call());
    if let Ok(outcome) = run_until(deadline.at_most(HEDGE_AFTER), &mut first).await {
        return outcome;
    }
    if deadline.remaining().is_zero() {
        return Err(CallError::DeadlineExceeded.into());
    }
    let response = hedge(first, deadline, hedge_limit, call);
    run_until(deadline, response).await?
}

/// Makes hedged requests, one after another, while the first call has no response.
async fn hedge<T, F>(
    mut first: Pin<Box<F>>,
    deadline: Deadline,
    hedge_limit: &HedgeLimit,
    call: impl Fn() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let is_transient =
        |outcome: &Result<T, StoreError>| outcome.as_ref().is_err_and(StoreError::is_transient);
    let mut backoff = Backoff::default();
    loop {
        let hedged = Box::pin(async {
            let permit = hedge_limit.0.acquire().await;
            let outcome = call().await;
            drop(permit);
            outcome
        });
        match select(first, hedged).await {
            Either::Left((outcome, hedged)) if is_transient(&outcome) => return hedged.await,
            Either::Right((outcome, waiting)) if is_transient(&outcome) => first = waiting,
            Either::Left((outcome, _)) | Either::Right((outcome, _)) => return outcome,
        }
        match select(first, Box::pin(backoff.wait(deadline))).await {
            Either::Left((outcome, _)) => return outcome,
            Either::Right((has_time, waiting)) if has_time => first = waiting,
            Either::Right((_, waiting)) => return waiting.await,
        }
    }
}

/// Limits the hedged requests for one part of a request.
#[derive(Debug)]
pub(crate) struct HedgeLimit(Semaphore);

impl Default for HedgeLimit {
    fn default() -> Self {
        Self(Semaphore::new(MAX_HEDGED_REQUESTS))
    }
}

/// The waits between the calls of a request, with full jitter: the bound of each wait is twice the
/// bound of the wait before it.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    bound: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { bound: FIRST_WAIT }
    }
}

impl Backoff {
    /// Waits before the next call. Returns `false`, at once, if that would be after the deadline.
    pub async fn wait(&mut self, deadline: Deadline) -> bool {
        let wait = self.bound.mul_f64(fastrand::f64());
        self.bound = self.bound.saturating_mul(2).min(LONGEST_WAIT);
        let has_time = wait < deadline.remaining();
        if has_time {
            tokio::time::sleep(wait).await;
        }
        has_time
    }
}
