//! The requests, for what a deployment can break: the table of the keys, API Gateway, what it hands
//! over, and what functions store. The rules of the functions have tests of their own: the same
//! program is deployed.

use std::num::NonZeroUsize;

use futures_util::{StreamExt as _, stream};
use model::api_key::KEY_PREFIX;
use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};

use super::api::{CUSTOMERS, Call, ExpectedResponse, PING, SIGNALS};
use super::batch::{SentBatch, subject_id};
use super::run::{AnsweredBatch, Run};
use crate::check_result::CheckOutcome;

/// The customer whose profile is updated.
pub(super) const UPDATED: usize = 0;

/// Requests with signals at the same time.
const CONCURRENCY: usize = 4;

/// How many signals of a batch are valid and how many are not.
#[derive(Clone, Copy)]
struct BatchSize {
    valid: usize,
    invalid: usize,
}

/// The batches of a round.
const SIZES_OF_ROUND: [BatchSize; 3] = [
    BatchSize {
        valid: 1,
        invalid: 0,
    },
    BatchSize {
        valid: 500,
        invalid: 0,
    },
    BatchSize {
        valid: 24,
        invalid: 1,
    },
];

/// How many signals the three batches of a round have together.
pub(super) const SIGNALS_OF_ROUND: NonZeroUsize =
    NonZeroUsize::new(526).expect("there are signals in a round");

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// Sends requests with a valid API key, with none and with a wrong one.
pub(super) async fn check_keys(run: &Run<'_>) {
    let ping = || Call::new("GET", PING);
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let answered = ExpectedResponse::status(200).body("/response", json!("pong"));
    let missing = ExpectedResponse::problem(401, "unauthorized")
        .header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let promise = "API keys";
    run.check(promise, "Ping with a valid key", &ping(), &answered)
        .await;
    let without_key = ping().key(None);
    run.check(promise, "401: no key", &without_key, &missing)
        .await;
    let with_wrong_key = ping().key(Some(&wrong));
    run.check(promise, "401: wrong key", &with_wrong_key, &invalid)
        .await;
}

/// Sends updates of a customer.
pub(super) async fn update_customer(run: &Run<'_>) {
    let updates = [
        (
            "POST",
            json!({"email": "a@example.com", "phoneNumber": "+49 1", "city": "Oslo"}),
        ),
        ("PATCH", json!({"phoneNumber": null, "city": "Paris"})),
        ("POST", json!({"firstName": "Zoë 😀"})),
    ];
    for (method, data) in updates {
        let body = json!({"customerId": subject_id(UPDATED), "customerData": data});
        let call = Call::post(CUSTOMERS, body.to_string()).method(method);
        let expected =
            ExpectedResponse::status(200).body("/customerId", json!(subject_id(UPDATED)));
        let name = format!("{method} of a customer");
        run.check("Customers", &name, &call, &expected).await;
    }
}

/// The fields of the customer after these updates.
pub(super) fn updated_fields() -> Value {
    json!({"email": "a@example.com", "city": "Paris", "firstName": "Zoë 😀"})
}

/// Sends what API Gateway has to hand over unchanged: a compressed body, the largest body, and a
/// preflight request, which has no key.
pub(super) async fn check_handing_over(run: &Run<'_>) {
    let batch = SentBatch::new(25, 0);
    let zipped = batch
        .call()
        .gzip()
        .header("user-agent", "curl/8.7.1")
        .header("accept", "*/*");
    let answered = run.send_batch(batch, &zipped).await;
    run.add("Endpoints", "gzip", answered.outcome());

    let batch = SentBatch::new(1, 0);
    let largest = batch.call().padded_to(MAX_BODY_BYTES);
    let answered = run.send_batch(batch, &largest).await;
    run.add("Limits", "A body of 4 MiB", answered.outcome());

    let preflight = Call::new("OPTIONS", SIGNALS).key(None);
    let expected = ExpectedResponse::status(204).header("allow", "POST");
    run.check("Endpoints", "OPTIONS without a key", &preflight, &expected)
        .await;
}

/// Whether the responses to a batch were as expected, or else the first differences.
struct Delivery {
    first: Result<(), String>,
    /// The response to the retry, if the batch was sent twice.
    retry: Option<Result<(), String>>,
}

/// Sends about this many signals, in batches of which every other one is sent twice.
pub(super) async fn send_batches(run: &Run<'_>, signals: usize) {
    let rounds = signals.div_ceil(SIGNALS_OF_ROUND.get());
    let mut deliveries = Vec::new();
    for round in 0..rounds {
        let is_retried = round.is_multiple_of(2);
        for size in SIZES_OF_ROUND {
            deliveries.push(deliver(run, size, is_retried));
        }
    }
    let deliveries: Vec<Delivery> = stream::iter(deliveries)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let requests = deliveries.len();
    let mut retries = 0;
    let mut faults = Vec::new();
    let mut faults_of_retries = Vec::new();
    for delivery in deliveries {
        faults.extend(delivery.first.err());
        if let Some(retry) = delivery.retry {
            retries += 1;
            faults_of_retries.extend(retry.err());
        }
    }
    run.add_faults(
        "Signals",
        "Batches of 1, 25 and 500 signals, both shapes mixed",
        &faults,
        format!("{requests} requests"),
    );
    run.add_faults(
        "Retries",
        "Retries after the response",
        &faults_of_retries,
        format!("{retries} requests"),
    );
}

/// Sends a batch, and a second time if `is_retried`.
async fn deliver(run: &Run<'_>, size: BatchSize, is_retried: bool) -> Delivery {
    let batch = SentBatch::new(size.valid, size.invalid);
    let call = batch.call();
    let AnsweredBatch { response, expected } = run.send_batch(batch, &call).await;
    let accepted = expected.clone().body("/replayed", json!(false));
    let first = accepted.check(&response).map(drop);
    let mut retry = None;
    if is_retried {
        let response = run.send(&call).await;
        let replayed = expected.body("/replayed", json!(true));
        retry = Some(replayed.check(&response).map(drop));
    }
    Delivery { first, retry }
}

/// A request that API Gateway answers by itself, and the status of its answer.
struct GatewayCheck {
    name: &'static str,
    call: Call,
    status: u16,
}

/// Sends requests that API Gateway answers by itself. On other stacks, the checks are skipped.
pub(super) async fn check_gateway(run: &Run<'_>, is_gateway: bool) {
    let no_route = Call::post("/api/no-such-path", "{}");
    let other_host = Call::new("GET", PING).header("host", "another.invalid");
    let too_large = Call::post(SIGNALS, "{}").padded_to(TOO_LARGE_FOR_GATEWAY);
    let checks = [
        GatewayCheck {
            name: "404: no route",
            call: no_route,
            status: 404,
        },
        GatewayCheck {
            name: "403: another host name",
            call: other_host,
            status: 403,
        },
        GatewayCheck {
            name: "413: a body of 11 MB",
            call: too_large,
            status: 413,
        },
    ];
    let promise = "Responses of API Gateway";
    for GatewayCheck { name, call, status } in checks {
        if is_gateway {
            let expected = ExpectedResponse::gateway(status);
            run.check(promise, name, &call, &expected).await;
        } else {
            let skipped = CheckOutcome::skipped("only API Gateway shows it");
            run.add(promise, name, skipped);
        }
    }
}
