//! The client of DynamoDB: its timeouts, its retries, and the count of its attempts.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::interceptors::InterceptorContext;
use aws_sdk_dynamodb::config::retry::{
    ClassifyRetry, RetryAction, RetryConfig, RetryPartition, TokenBucket,
};

use crate::call_stats::CallStatsInterceptor;

/// The bound of the first wait between attempts; doubled with each wait that follows.
pub const BACKOFF_BASE: Duration = Duration::from_millis(25);

/// The longest bound of a wait.
pub const BACKOFF_CAP: Duration = Duration::from_secs(1);

/// How long one attempt of a call may take. DynamoDB responds within tens of milliseconds even at
/// its slowest percentiles, so a retry on another connection is better than a longer wait.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Attempts per call, including the first.
const MAX_ATTEMPTS: u32 = 4;

/// Retries that a process may make before calls succeed again. A call that succeeds after a retry
/// returns its tokens, and five calls that succeed at once return one retry: 10 % of failing calls
/// never exhaust the budget, and an outage is not amplified. The budget is enough for every
/// connection of a request to have dropped while the environment was frozen.
const RETRY_BUDGET: u32 = 20;

/// The cost of one retry of anything but throttling, in the SDK's tokens; a success returns one
/// token.
const RETRY_COST: u32 = 5;

/// The tokens of the retry budget.
const RETRY_TOKENS: u32 = RETRY_BUDGET * RETRY_COST;

/// The client of a function.
pub fn dynamodb(config: &SdkConfig) -> Client {
    dynamodb_with(config, ATTEMPT_TIMEOUT, retry_tokens())
}

/// A client of a function with the connections of `client` and a retry budget of its own.
pub fn with_own_retries(client: &Client) -> Client {
    Client::from_conf(
        client
            .config()
            .to_builder()
            .retry_partition(partition(retry_tokens()))
            .build(),
    )
}

fn retry_tokens() -> TokenBucket {
    let tokens = TokenBucket::builder()
        .capacity(usize::try_from(RETRY_TOKENS).unwrap_or(usize::MAX))
        .retry_cost(RETRY_COST)
        .timeout_retry_cost(RETRY_COST)
        // More than there are: the SDK never retries a throttled call. The store waits instead,
        // without tokens and until the deadline.
        .throttling_retry_cost(RETRY_TOKENS.saturating_add(1));
    tokens.build()
}

fn partition(retry_tokens: TokenBucket) -> RetryPartition {
    RetryPartition::custom("dynamodb")
        .token_bucket(retry_tokens)
        .build()
}

/// A client with other limits, for a caller that has more time than a function.
pub fn dynamodb_with(
    config: &SdkConfig,
    attempt_timeout: Duration,
    retry_tokens: TokenBucket,
) -> Client {
    let config = Builder::from(config)
        .retry_config(retries(MAX_ATTEMPTS))
        .retry_partition(partition(retry_tokens))
        .retry_classifier(MalformedResponse)
        .timeout_config(
            TimeoutConfig::builder()
                .operation_attempt_timeout(attempt_timeout)
                .build(),
        )
        .interceptor(CallStatsInterceptor);
    Client::from_conf(config.build())
}

/// So many attempts, with waits that suit a service in the same region.
pub(crate) fn retries(max_attempts: u32) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(max_attempts)
        // The SDK's default of one second delays a retry, which usually succeeds, by half a second.
        .with_initial_backoff(BACKOFF_BASE)
        .with_max_backoff(BACKOFF_CAP)
}

/// Retries a call whose 200 cannot be parsed, as one whose response was lost: DynamoDB did not
/// write it.
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
