//! Switches off what the SDK adds to each call and DynamoDB does not need: 40 k of 290 k instructions.
//!
//! The SDK's headers of its own (`x-amz-user-agent`, `amz-sdk-invocation-id`, `amz-sdk-request`) tell AWS which features of
//! which SDK are in use and which attempts belong together. DynamoDB answers without them. `CloudTrail` shows the user agent,
//! so a constant one is sent, which is not signed.

use aws_runtime::invocation_id::InvocationIdInterceptor;
use aws_runtime::request_info::RequestInfoInterceptor;
use aws_runtime::user_agent::UserAgentInterceptor;
use aws_sdk_dynamodb::config::interceptors::{
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_runtime_api::client::interceptors::{disable_interceptor, dyn_dispatch_hint};

/// What calls name as their user agent.
const USER_AGENT: &str = concat!("intake/", env!("CARGO_PKG_VERSION"));

/// Disables the interceptors of those headers, and sends the user agent.
#[derive(Debug)]
pub(crate) struct LeanCallInterceptor;

#[dyn_dispatch_hint]
impl Intercept for LeanCallInterceptor {
    fn name(&self) -> &'static str {
        "LeanCallInterceptor"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        const CAUSE: &str = "DynamoDB does not need its header";
        cfg.interceptor_state()
            .store_put(disable_interceptor::<UserAgentInterceptor>(CAUSE))
            .store_put(disable_interceptor::<InvocationIdInterceptor>(CAUSE))
            .store_put(disable_interceptor::<RequestInfoInterceptor>(CAUSE));
        Ok(())
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().insert("user-agent", USER_AGENT);
        Ok(())
    }
}
