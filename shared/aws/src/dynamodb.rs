//! The client of DynamoDB: its timeout, and the count of its calls.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::interceptors::InterceptorContext;
use aws_sdk_dynamodb::config::retry::{ClassifyRetry, RetryAction, RetryConfig};

use crate::call_stats::CallStatsInterceptor;
use crate::http_client::refuse_empty_responses;

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_millis(2_500);

/// How long a call waits for a response before the connections to DynamoDB count as lost. DynamoDB responds
/// within tens of milliseconds.
pub const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_millis(400);

/// The client of a function. The SDK makes each call once: the function repeats it for as long as
/// its request can wait.
pub fn dynamodb(config: &SdkConfig) -> Client {
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(CALL_TIMEOUT)
        .build();
    let config = builder(config)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    Client::from_conf(config.build())
}

/// The client of a caller that has more time than a function: with the timeouts, the retries and the
/// HTTP client of `config`. An empty response is an error.
pub fn dynamodb_with_retries(config: &SdkConfig) -> Client {
    let mut builder = builder(config);
    builder.set_http_client(config.http_client().map(refuse_empty_responses));
    Client::from_conf(builder.build())
}

fn builder(config: &SdkConfig) -> Builder {
    Builder::from(config)
        .retry_classifier(MalformedResponse)
        .interceptor(CallStatsInterceptor)
}

/// Classifies a call whose 200 cannot be parsed as a transient failure, like a call whose response
/// was lost, because DynamoDB did not write that 200. The SDK then closes the connection instead of
/// using it again.
#[derive(Debug)]
struct MalformedResponse;

impl ClassifyRetry for MalformedResponse {
    fn name(&self) -> &'static str {
        "MalformedResponse"
    }

    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let is_success = context
            .response()
            .is_some_and(|response| response.status().is_success());
        if is_success && context.is_failed() {
            RetryAction::transient_error()
        } else {
            RetryAction::NoActionIndicated
        }
    }
}
