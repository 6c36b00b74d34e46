//! Whether a write may have taken effect, by what became of each of its attempts. Must not know what is
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;

/// The attempts of one call, which the SDK makes: an interceptor of the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteAttempts {
    /// How many were sent and not refused.
    uncertain: Arc<AtomicU32>,
}

impl WriteAttempts {
    /// Whether an attempt may have taken effect. None has if each was refused, or none was sent. A 5xx is no
    /// refusal: the service may have failed after the write.
    pub(crate) fn may_have_written(&self) -> bool {
        self.uncertain.load(Ordering::Relaxed) > 0
    }
}

impl Intercept for WriteAttempts {
    fn name(&self) -> &'static str {
        "WriteAttempts"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.uncertain.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let is_refused = response.is_some_and(|response| response.status().is_client_error());
        if is_refused {
            self.uncertain.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
