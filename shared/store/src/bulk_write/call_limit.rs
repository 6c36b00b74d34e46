//! How many calls of bulk writes are under way at the same time. This module must not know what is
//! in a call.

use std::sync::Arc;

use aws::deadline::{Deadline, run_until};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::chunk::CHUNK_BYTES;
use crate::error::StoreError;

/// The payload text of all concurrent calls, in bytes: bounds the memory for DynamoDB's JSON, sent
/// and returned.
const CONCURRENT_BYTES: usize = 1024 * 1024;

/// Concurrent calls of a request while it repeats calls, and of a message of a drain.
pub(super) const FEW_CALLS: usize = 2;

/// The calls to a table that are under way at the same time, of all requests or messages of this
/// process together.
#[derive(Clone, Debug)]
pub(super) struct CallLimit {
    semaphore: Arc<Semaphore>,
    /// The permits of the semaphore: the payload text of all concurrent calls, in bytes.
    max_bytes: usize,
    /// What a call counts at least, in bytes, however small it is. It limits the number of calls.
    min_bytes: usize,
}

impl CallLimit {
    /// The calls of one message of a drain, which has room for two of the largest chunks.
    pub(super) fn for_message() -> Self {
        Self::with_bytes(FEW_CALLS * CHUNK_BYTES, FEW_CALLS)
    }

    pub(super) fn new(max_calls: usize) -> Self {
        Self::with_bytes(CONCURRENT_BYTES, max_calls)
    }

    fn with_bytes(max_bytes: usize, max_calls: usize) -> Self {
        Self {
            semaphore: Arc::new(Semaphore::new(max_bytes)),
            max_bytes,
            min_bytes: max_bytes / max_calls.max(1),
        }
    }

    /// How many permits a call with this text takes. A call that is larger than the limit takes all
    /// of them, and so is made alone.
    fn cost(&self, bytes: usize) -> u32 {
        let cost = bytes.clamp(self.min_bytes, self.max_bytes);
        u32::try_from(cost).expect("the bytes of all calls are below 4 GB")
    }

    /// Waits until a chunk of this text can be sent. The call that has waited longest is next.
    ///
    /// # Errors
    /// When it cannot before the deadline.
    pub(super) async fn acquire(
        &self,
        bytes: usize,
        deadline: Deadline,
    ) -> Result<SemaphorePermit<'_>, StoreError> {
        let acquired = self.semaphore.acquire_many(self.cost(bytes));
        let permit = run_until(deadline, acquired).await?;
        Ok(permit.expect("the semaphore is never closed"))
    }

    /// Returns a permit if a chunk of this text can be sent at once.
    pub(super) fn try_acquire(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        self.semaphore.try_acquire_many(self.cost(bytes)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_all_requests_share_their_number_and_their_bytes() {
        let call_limit = CallLimit::new(20);
        let of_another_request = call_limit.clone();
        let calls: Vec<_> = (0..20).map_while(|_| call_limit.try_acquire(1)).collect();
        assert_eq!(
            (calls.len(), of_another_request.try_acquire(1).is_none()),
            (20, true)
        );
        drop(calls);
        let large = call_limit.try_acquire(10 * CONCURRENT_BYTES);
        assert!(large.is_some() && of_another_request.try_acquire(1).is_none());
    }

    #[test]
    fn call_larger_than_the_limit_of_a_message_is_made_alone() {
        let call_limit = CallLimit::for_message();
        let large = call_limit.try_acquire(3 * CHUNK_BYTES);
        assert!(
            large.is_some(),
            "the call waits for permits that do not exist"
        );
        assert!(call_limit.try_acquire(1).is_none());
    }
}
