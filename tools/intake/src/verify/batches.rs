//! The phase with most of the signals: batches of several sizes, some of them retried.

use std::time::Duration;

use anyhow::Result;
use consistency::Outcome;
use futures_util::StreamExt as _;
use futures_util::future::join;
use futures_util::stream;
use serde_json::json;

use super::api::{Call, Response, SIGNALS};
use super::check::{Check, Expected};
use super::load::Batch;
use super::run::{Run, now};

/// The sizes of the batches.
const SIZES: [usize; 3] = [1, 25, 500];

/// Requests at the same time.
const CONCURRENCY: usize = 4;

/// Attempts of a request that is not answered 200, and the pause before each further one.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// When a request is sent a second time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    Never,
    /// After the response.
    After,
    /// While the first attempt is under way.
    During,
}

/// Sends about as many signals.
pub(super) async fn send(run: &Run<'_>, signals: usize) {
    let batches = plan(run, signals);
    let requests = batches.len();
    let deliveries = batches.into_iter().map(|(batch, retry)| async move { (retry, deliver(run, batch, retry).await) });
    let results: Vec<_> = stream::iter(deliveries).buffer_unordered(CONCURRENCY).collect().await;
    let names = [
        (Retry::Never, "Signals", "Batches of 1, 25 and 500 signals, both shapes mixed"),
        (Retry::After, "Retries", "Retries after the response"),
        (Retry::During, "Retries", "Retries while the first attempt is under way"),
    ];
    for (retry, promise, name) in names {
        let of_kind = results.iter().filter(|(kind, _)| *kind == retry);
        let deviations: Vec<&String> = of_kind.clone().filter_map(|(_, deviation)| deviation.as_ref()).collect();
        let count = of_kind.count();
        run.add(match deviations.first() {
            None => Check::held(promise, name, format!("{count} of {requests} requests, each answered as promised")),
            Some(text) => {
                Check::failed(promise, name, format!("{} of {count} requests; the first: {text}", deviations.len()))
            }
        });
    }
}

/// Most signals in the largest batches, most requests with the smallest.
fn plan(run: &Run<'_>, signals: usize) -> Vec<(Batch, Retry)> {
    let [single, middle, large] = SIZES;
    let counts =
        [(single, (signals / 10).clamp(8, 200)), (middle, (signals / 80).max(8)), (large, (signals / 800).max(2))];
    let mut sizes: Vec<usize> = counts.into_iter().flat_map(|(size, count)| std::iter::repeat_n(size, count)).collect();
    fastrand::Rng::with_seed(0).shuffle(&mut sizes);
    let batch = |(n, size): (usize, usize)| {
        // Some requests have a signal that breaks a rule beside valid ones.
        let batch = if n % 5 == 2 && size > single {
            run.batch(size.saturating_sub(1)).with(run.account, "")
        } else {
            run.batch(size)
        };
        match n % 4 {
            1 => (batch, Retry::After),
            3 => (batch, Retry::During),
            0 if n % 8 == 0 => (batch.identifier(None), Retry::Never),
            _ => (batch, Retry::Never),
        }
    };
    sizes.into_iter().enumerate().map(batch).collect()
}

/// Delivers a batch as a client that retries does. Returns what was not as it has to be.
async fn deliver(run: &Run<'_>, mut batch: Batch, retry: Retry) -> Option<String> {
    let call = Call::post(SIGNALS, batch.body());
    let sent = now();
    let first = async {
        let response = run.send(&call).await;
        (response, now())
    };
    let second = async {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..20))).await;
        (run.send(&call).await, now())
    };
    let mut responses = if retry == Retry::During {
        let (first, second) = join(first, second).await;
        vec![first, second]
    } else {
        vec![first.await]
    };
    let mut deviation = None;
    let mut last_call = call.clone();
    while !responses.iter().any(|(response, _)| is_success(response)) && responses.len() < ATTEMPTS {
        let failed = responses.last().map(|(response, _)| describe(response)).unwrap_or_default();
        deviation = deviation.or(Some(failed));
        // Without a requestIdentifier a retry is a new request, unless the 503 has one.
        let Some(identifier) = batch.identifier.clone().or_else(|| offered(&responses)) else { break };
        batch = batch.identifier(Some(identifier));
        last_call = Call::post(SIGNALS, batch.body());
        tokio::time::sleep(PAUSE).await;
        responses.push((run.send(&last_call).await, now()));
    }
    if retry == Retry::After {
        responses.push((run.send(&last_call).await, now()));
    }
    let acknowledged = responses.iter().filter(|(response, _)| is_success(response)).map(|(_, at)| *at).min();
    let deviation = deviation.or_else(|| deviation_of(&batch, retry, &responses));
    run.note(batch, sent, acknowledged.map_or(Outcome::Unknown, Outcome::Acknowledged));
    deviation
}

fn is_success(response: &Result<Response>) -> bool {
    response.as_ref().is_ok_and(|response| response.status == 200)
}

fn describe(response: &Result<Response>) -> String {
    response.as_ref().map_or_else(|error| format!("no response: {error:#}"), Response::summary)
}

fn offered(responses: &[(Result<Response>, u64)]) -> Option<String> {
    let (response, _) = responses.last()?;
    Some(response.as_ref().ok()?.body.get("requestIdentifier")?.as_str()?.to_owned())
}

fn deviation_of(batch: &Batch, retry: Retry, responses: &[(Result<Response>, u64)]) -> Option<String> {
    let mut expected = Expected::counts(200, batch.sent.len(), batch.accepted());
    if let Some(identifier) = &batch.identifier {
        expected = expected.body("/requestIdentifier", json!(identifier));
    }
    let mut replayed = Vec::new();
    for (response, _) in responses {
        let Ok(response) = response else { return Some(describe(response)) };
        if let Some(difference) = expected.difference(response) {
            return Some(format!("{difference}; the response is {}", response.summary()));
        }
        replayed.push(response.body.get("replayed") == Some(&json!(true)));
    }
    if retry == Retry::During {
        // Either of the two may be the first to arrive.
        replayed.sort_unstable();
    }
    let expected = if retry == Retry::Never { vec![false] } else { vec![false, true] };
    (replayed != expected).then(|| format!("replayed is {replayed:?}, expected {expected:?}"))
}
