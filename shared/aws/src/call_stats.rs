//! The DynamoDB calls of one request: how many, and the time from the first to the last. Each counts,
//! whether DynamoDB responds or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use tokio::time::Instant;

tokio::task_local! {
    static CURRENT: Arc<CallStats>;
}

/// The calls of one request so far.
#[derive(Debug)]
pub struct CallStats {
    began: Instant,
    attempts: AtomicU32,
    ended: AtomicU32,
    first_microseconds: AtomicU64,
    last_microseconds: AtomicU64,
}

impl CallStats {
    /// Runs `work` and counts the calls that it makes.
    pub async fn measure<T>(work: impl Future<Output = T>) -> (T, Arc<Self>) {
        let call_stats = Arc::new(Self {
            began: Instant::now(),
            attempts: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            first_microseconds: AtomicU64::new(u64::MAX),
            last_microseconds: AtomicU64::new(0),
        });
        let result = CURRENT.scope(call_stats.clone(), work).await;
        (result, call_stats)
    }

    /// Calls that were sent.
    pub fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// The time from the start of the first call to the end of the last one: to its response, or to
    /// its timeout. While a call is under way, the time until now. `None` without calls.
    pub fn latency(&self) -> Option<Duration> {
        let first = self.first_microseconds.load(Ordering::Relaxed);
        let all_have_ended = self.ended.load(Ordering::Relaxed) == self.attempts();
        let last = if all_have_ended {
            self.last_microseconds.load(Ordering::Relaxed)
        } else {
            self.elapsed()
        };
        (self.attempts() > 0).then(|| Duration::from_micros(last.saturating_sub(first)))
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Counts each call for the request that it belongs to. The SDK makes each once.
#[derive(Debug)]
pub(crate) struct CallStatsInterceptor;

impl Intercept for CallStatsInterceptor {
    fn name(&self) -> &'static str {
        "CallStatsInterceptor"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // Tools and tests make calls outside a request: those are not counted.
        let _ = CURRENT.try_with(|call_stats| {
            call_stats.attempts.fetch_add(1, Ordering::Relaxed);
            call_stats
                .first_microseconds
                .fetch_min(call_stats.elapsed(), Ordering::Relaxed);
            let end = EndOfCall(Arc::clone(call_stats));
            config.interceptor_state().store_put(end);
        });
        Ok(())
    }
}

/// Notes the end of a call when the SDK drops the state of the call. A hook at the end of an attempt
/// is not run for a call that is dropped at the deadline.
#[derive(Debug)]
struct EndOfCall(Arc<CallStats>);

impl Storable for EndOfCall {
    type Storer = StoreReplace<Self>;
}

impl Drop for EndOfCall {
    fn drop(&mut self) {
        let Self(call_stats) = self;
        call_stats.ended.fetch_add(1, Ordering::Relaxed);
        call_stats
            .last_microseconds
            .fetch_max(call_stats.elapsed(), Ordering::Relaxed);
    }
}
