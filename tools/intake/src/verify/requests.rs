//! The requests, for what a deployment can break: the table of the keys, API Gateway, what it hands
//! over, and what functions store. The rules of the functions have tests of their own: the same
//! program is deployed.

use std::num::NonZeroUsize;

use futures_util::{StreamExt as _, stream};
use model::api_key::KEY_PREFIX;
use model::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};

use super::api::{CUSTOMERS, Call, Expected, PING, SIGNALS};
use super::batch::{Batch, subject_id};
use super::run::Run;
use crate::check_result::Verdict;

/// The customer whose profile is updated.
pub(super) const UPDATED: usize = 0;

/// Requests with signals at the same time.
const CONCURRENCY: usize = 4;

/// How many signals the three batches of a round have together.
pub(super) const SIGNALS_OF_ROUND: NonZeroUsize =
    NonZeroUsize::new(526).expect("there are signals in a round");

/// More than the 10 MB that API Gateway takes.
const TOO_LARGE_FOR_GATEWAY: usize = 11 * 1024 * 1024;

/// A valid API key, none and a wrong one.
pub(super) async fn keys(run: &Run<'_>) {
    let ping = || Call::new("GET", PING);
    let wrong = format!("{KEY_PREFIX}{}", "0".repeat(64));
    let answered = Expected::status(200).body("/response", json!("pong"));
    let missing = Expected::problem(401, "unauthorized")
        .header("www-authenticate", "Bearer realm=\"intake\"");
    let invalid = missing.clone().header("www-authenticate", "invalid_token");
    let checks = [
        ("Ping with a valid key", ping(), &answered),
        ("401: no key", ping().key(None), &missing),
        ("401: wrong key", ping().key(Some(&wrong)), &invalid),
    ];
    for (name, call, expected) in checks {
        run.check("API keys", name, &call, expected).await;
    }
}

/// Updates of customers.
pub(super) async fn customers(run: &Run<'_>) {
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
        let expected = Expected::status(200).body("/customerId", json!(subject_id(UPDATED)));
        run.check(
            "Customers",
            &format!("{method} of a customer"),
            &call,
            &expected,
        )
        .await;
    }
}

/// The fields of the customer after these updates.
pub(super) fn updated_fields() -> Value {
    json!({"email": "a@example.com", "city": "Paris", "firstName": "Zoë 😀"})
}

/// What API Gateway hands over: a compressed body, the largest one, and a preflight request, which
/// has no key.
pub(super) async fn handed_over(run: &Run<'_>) {
    let (small, large) = (Batch::new(25, 0), Batch::new(1, 0));
    let zipped = small
        .call()
        .gzip()
        .header("user-agent", "curl/8.7.1")
        .header("accept", "*/*");
    let whole = large.call().padded_to(MAX_BODY_BYTES);
    for (promise, name, batch, call) in [
        ("Endpoints", "gzip", small, zipped),
        ("Limits", "A body of 4 MiB", large, whole),
    ] {
        let (response, expected) = run.send_batch(batch, &call).await;
        run.add(promise, name, expected.verdict(&response));
    }
    let preflight = Call::new("OPTIONS", SIGNALS).key(None);
    let expected = Expected::status(204).header("allow", "POST");
    run.check("Endpoints", "OPTIONS without a key", &preflight, &expected)
        .await;
}

/// Sends about as many signals, in batches of which every other one is sent twice.
pub(super) async fn batches(run: &Run<'_>, signals: usize) {
    let rounds = 0..signals.div_ceil(SIGNALS_OF_ROUND.get());
    let sizes = rounds
        .flat_map(|round| [(1, 0), (500, 0), (24, 1)].map(|size| (size, round.is_multiple_of(2))));
    let deliveries = sizes.map(|((valid, invalid), is_retried)| async move {
        let batch = Batch::new(valid, invalid);
        let call = batch.call();
        let (response, expected) = run.send_batch(batch, &call).await;
        let first = expected
            .clone()
            .body("/replayed", json!(false))
            .check(&response)
            .err();
        if !is_retried {
            return (first, None);
        }
        let retried = run.send(&call).await;
        (
            first,
            Some(
                expected
                    .body("/replayed", json!(true))
                    .check(&retried)
                    .err(),
            ),
        )
    });
    let results: Vec<_> = stream::iter(deliveries)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    let (first, retries): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let retries: Vec<_> = retries.into_iter().flatten().collect();
    for (promise, name, faults) in [
        (
            "Signals",
            "Batches of 1, 25 and 500 signals, both shapes mixed",
            first,
        ),
        ("Retries", "Retries after the response", retries),
    ] {
        let seen = format!("{} requests", faults.len());
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        run.add_faults(promise, name, &faults, seen);
    }
}

/// What API Gateway answers by itself.
pub(super) async fn gateway(run: &Run<'_>, is_gateway: bool) {
    const PROMISE: &str = "Responses of API Gateway";
    let checks = [
        (404, "404: no route", Call::post("/api/no-such-path", "{}")),
        (
            403,
            "403: another host name",
            Call::new("GET", PING).header("host", "another.invalid"),
        ),
        (
            413,
            "413: a body of 11 MB",
            Call::post(SIGNALS, "{}").padded_to(TOO_LARGE_FOR_GATEWAY),
        ),
    ];
    for (status, name, call) in checks {
        if is_gateway {
            run.check(PROMISE, name, &call, &Expected::gateway(status))
                .await;
        } else {
            run.add(PROMISE, name, Verdict::skipped("only API Gateway shows it"));
        }
    }
}
