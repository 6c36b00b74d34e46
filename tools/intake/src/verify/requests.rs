//! Requests that check what a deployment can get wrong: the key table, API Gateway, what it passes
//! through to the functions, and the tables, which get batches in rounds of three: one signal, as many as a
//! request may have, and some of which one is invalid. They do not check the rules of the functions, which
//! have tests of their own, and are the same in every deployment. Must not know what is stored.

use std::num::NonZeroUsize;

use anyhow::Result;
use futures_util::{StreamExt as _, stream};
use model::api_key::KEY_PREFIX;
use model::limits::{MAX_BODY_BYTES, MAX_SIGNALS_PER_REQUEST};
use serde_json::{Value, json};

use super::api::ExpectedResponse;
use super::api::{ApiRequest, ApiResponse, CUSTOMERS, PING, SIGNALS};
use super::report::CheckContext;
use super::sender::{BatchResponse, SentBatch, subject_id};
use crate::check_result::CheckOutcome;

/// How many signals the compressed batch has.
const COMPRESSED_SIGNALS: usize = 25;

/// How many signals the largest body has: blanks fill it.
const SIGNALS_OF_LARGEST_BODY: usize = 1;

/// How many signals [`check_pass_through`] sends.
pub(super) const PASS_THROUGH_SIGNALS: usize = COMPRESSED_SIGNALS + SIGNALS_OF_LARGEST_BODY;

/// The customer whose profile is updated.
pub(super) const UPDATED_CUSTOMER: usize = 0;

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// Sends requests with a valid API key, with none and with a wrong one.
pub(super) async fn check_keys(context: &CheckContext<'_>) {
    let ping = || ApiRequest::new("GET", PING);
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let response = ExpectedResponse::status(200).body("/response", json!("pong"));
    let missing = ExpectedResponse::problem(401, "unauthorized")
        .header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let promise = "API keys";
    context
        .check(promise, "Ping with a valid key", &ping(), &response)
        .await;
    let without_key = ping().key(None);
    context
        .check(promise, "401: no key", &without_key, &missing)
        .await;
    let with_wrong_key = ping().key(Some(&wrong));
    context
        .check(promise, "401: wrong key", &with_wrong_key, &invalid)
        .await;
}

/// Sends updates of a customer.
pub(super) async fn update_customer(context: &CheckContext<'_>) {
    let updates = [
        (
            "POST",
            json!({"email": "a@example.com", "phoneNumber": "+49 1", "city": "Oslo"}),
        ),
        ("PATCH", json!({"phoneNumber": null, "city": "Paris"})),
        ("POST", json!({"firstName": "Zoë 😀"})),
    ];
    for (method, data) in updates {
        let body = json!({"customerId": subject_id(UPDATED_CUSTOMER), "customerData": data});
        let request = ApiRequest::post(CUSTOMERS, body.to_string()).method(method);
        let expected =
            ExpectedResponse::status(200).body("/customerId", json!(subject_id(UPDATED_CUSTOMER)));
        let name = format!("{method} of a customer");
        context.check("Customers", &name, &request, &expected).await;
    }
}

/// The fields of the customer after these updates.
pub(super) fn updated_fields() -> Value {
    json!({"email": "a@example.com", "city": "Paris", "firstName": "Zoë 😀"})
}

/// Sends what API Gateway has to pass through unchanged: a compressed body, the largest body, and a
/// preflight request, which has no key.
pub(super) async fn check_pass_through(context: &CheckContext<'_>) {
    let batch = SentBatch::new(COMPRESSED_SIGNALS, 0);
    let zipped = batch
        .request()
        .gzip()
        .header("user-agent", "curl/8.7.1")
        .header("accept", "*/*");
    let response = context.sender.send_batch(batch, &zipped).await;
    context.checks.add("Endpoints", "gzip", response.outcome());

    let batch = SentBatch::new(SIGNALS_OF_LARGEST_BODY, 0);
    let largest = batch.request().padded_to(MAX_BODY_BYTES);
    let response = context.sender.send_batch(batch, &largest).await;
    context
        .checks
        .add("Limits", "A body of the largest size", response.outcome());

    let preflight = ApiRequest::new("OPTIONS", SIGNALS).key(None);
    let expected = ExpectedResponse::status(204).header("allow", "POST");
    context
        .check("Endpoints", "OPTIONS without a key", &preflight, &expected)
        .await;
}

/// A request that API Gateway responds to by itself, and the status of its response.
struct GatewayCheck {
    name: &'static str,
    request: ApiRequest,
    status: u16,
}

/// Sends requests that API Gateway responds to by itself. On other stacks, the checks are skipped.
pub(super) async fn check_gateway(context: &CheckContext<'_>, is_gateway: bool) {
    let no_route = ApiRequest::post("/api/no-such-path", "{}");
    let other_host = ApiRequest::new("GET", PING).header("host", "another.invalid");
    let too_large = ApiRequest::post(SIGNALS, "{}").padded_to(TOO_LARGE_FOR_GATEWAY);
    let checks = [
        GatewayCheck {
            name: "404: no route",
            request: no_route,
            status: 404,
        },
        GatewayCheck {
            name: "403: another host name",
            request: other_host,
            status: 403,
        },
        GatewayCheck {
            name: "413: a body of 11 MB",
            request: too_large,
            status: 413,
        },
    ];
    let promise = "Responses of API Gateway";
    for GatewayCheck {
        name,
        request,
        status,
    } in checks
    {
        if is_gateway {
            let expected = ExpectedResponse::gateway(status);
            context.check(promise, name, &request, &expected).await;
        } else {
            let skipped = CheckOutcome::skipped("only API Gateway shows it");
            context.checks.add(promise, name, skipped);
        }
    }
}

/// How many requests with signals are sent at the same time.
const CONCURRENCY: usize = 4;

/// How many signals of a batch are valid and how many are not.
#[derive(Clone, Copy)]
struct BatchSize {
    valid: usize,
    invalid: usize,
}

impl BatchSize {
    const fn signals(self) -> usize {
        self.valid.saturating_add(self.invalid)
    }
}

const SINGLE_SIGNAL: BatchSize = BatchSize {
    valid: 1,
    invalid: 0,
};

const LARGEST_BATCH: BatchSize = BatchSize {
    valid: MAX_SIGNALS_PER_REQUEST,
    invalid: 0,
};

const WITH_INVALID_SIGNAL: BatchSize = BatchSize {
    valid: 24,
    invalid: 1,
};

/// The batches of a round.
const SIZES_OF_ROUND: [BatchSize; 3] = [SINGLE_SIGNAL, LARGEST_BATCH, WITH_INVALID_SIGNAL];

/// How many signals the batches of a round have together.
pub(super) const SIGNALS_OF_ROUND: NonZeroUsize = {
    let small = SINGLE_SIGNAL.signals() + WITH_INVALID_SIGNAL.signals();
    NonZeroUsize::new(small + LARGEST_BATCH.signals()).expect("there are signals in a round")
};

/// Whether the responses to a batch were as expected, or else the first differences.
struct BatchResponses {
    first: Result<(), String>,
    /// The response to the retry, if the batch was sent twice.
    retry: Option<Result<(), String>>,
    /// Whether a response says that signals were deferred: DynamoDB may not have had the idempotency record
    /// then, so `replayed` is not judged.
    is_deferred: bool,
}

/// Sends about this many signals. The batches of every other round are sent twice.
pub(super) async fn send_batches(context: &CheckContext<'_>, signals: usize) {
    let rounds = signals.div_ceil(SIGNALS_OF_ROUND.get());
    let mut sends = Vec::new();
    for round in 0..rounds {
        let is_retried = round.is_multiple_of(2);
        for size in SIZES_OF_ROUND {
            sends.push(send_batch_and_retry(context, size, is_retried));
        }
    }
    let batch_responses: Vec<BatchResponses> = stream::iter(sends)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let requests = batch_responses.len();
    let mut retries = 0;
    let mut faults = Vec::new();
    let mut unjudged = 0;
    let mut faults_of_retries = Vec::new();
    for responses in batch_responses {
        faults.extend(responses.first.err());
        if let Some(retry) = responses.retry {
            retries += 1;
            unjudged += usize::from(responses.is_deferred);
            faults_of_retries.extend(retry.err());
        }
    }
    context.checks.add_faults(
        "Signals",
        "Batches of different sizes, both shapes mixed",
        &faults,
        format!("{requests} requests"),
    );
    context.checks.add_faults(
        "Retries",
        "Retries after the response",
        &faults_of_retries,
        if unjudged == 0 {
            format!("{retries} requests")
        } else {
            format!("{retries} requests; replayed not judged in {unjudged}: deferred")
        },
    );
}

/// Sends a batch, and a second time if `is_retried`.
async fn send_batch_and_retry(
    context: &CheckContext<'_>,
    size: BatchSize,
    is_retried: bool,
) -> BatchResponses {
    let batch = SentBatch::new(size.valid, size.invalid);
    let request = batch.request();
    let BatchResponse { response, expected } = context.sender.send_batch(batch, &request).await;
    let accepted = expected.clone().body("/replayed", json!(false));
    let first = accepted.check(&response).map(drop);
    let has_deferred =
        |response: &Result<ApiResponse>| response.as_ref().is_ok_and(|read| read.deferred() > 0);
    let mut is_deferred = has_deferred(&response);
    let mut retry = None;
    if is_retried {
        let response = context.sender.send(&request).await;
        is_deferred |= has_deferred(&response);
        let expected = if is_deferred {
            expected
        } else {
            expected.body("/replayed", json!(true))
        };
        retry = Some(expected.check(&response).map(drop));
    }
    BatchResponses {
        first,
        retry,
        is_deferred,
    }
}
