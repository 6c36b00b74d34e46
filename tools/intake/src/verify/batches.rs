//! The phase with most of the signals: batches of several sizes, some of them retried.

use std::time::Duration;

use anyhow::Result;
use consistency::Outcome;
use futures_util::StreamExt as _;
use futures_util::future::join;
use futures_util::stream;
use serde_json::json;

use super::api::{Call, Expected, Response, SIGNALS, now};
use super::load::Batch;
use super::run::Run;
use crate::check_result::Verdict;

/// Requests at the same time.
const CONCURRENCY: usize = 4;

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
        let verdict = match deviations.first() {
            None => Verdict::held(format!("{count} of {requests} requests, each answered as promised")),
            Some(text) => Verdict::failed(format!("{} of {count} requests; the first: {text}", deviations.len())),
        };
        run.add(promise, name, verdict);
    }
}

/// Most signals in the largest batches, most requests with the smallest.
fn plan(run: &Run<'_>, signals: usize) -> Vec<(Batch, Retry)> {
    let counts = [(1, (signals / 10).clamp(8, 200)), (25, (signals / 80).max(8)), (500, (signals / 800).max(2))];
    let mut sizes: Vec<usize> = counts.into_iter().flat_map(|(size, count)| std::iter::repeat_n(size, count)).collect();
    fastrand::Rng::with_seed(0).shuffle(&mut sizes);
    let batch = |(n, size): (usize, usize)| {
        // Some requests have a signal that breaks a rule beside valid ones.
        let is_mixed = n % 5 == 2 && size > 1;
        let batch = if is_mixed { run.batch(size - 1).with_invalid(run.account) } else { run.batch(size) };
        match n % 4 {
            1 => (batch, Retry::After),
            3 => (batch, Retry::During),
            _ if n % 8 == 0 => (batch.identifier(None), Retry::Never),
            _ => (batch, Retry::Never),
        }
    };
    sizes.into_iter().enumerate().map(batch).collect()
}

/// Sends a batch once or twice. Returns what was not as it has to be.
async fn deliver(run: &Run<'_>, batch: Batch, retry: Retry) -> Option<String> {
    let call = Call::post(SIGNALS, batch.body());
    let sent = now();
    let first = run.send(&call);
    let responses = match retry {
        Retry::Never => vec![first.await],
        Retry::After => vec![first.await, run.send(&call).await],
        Retry::During => {
            let second = async {
                tokio::time::sleep(Duration::from_millis(fastrand::u64(..20))).await;
                run.send(&call).await
            };
            <[_; 2]>::from(join(first, second).await).into()
        }
    };
    let deviation = deviation_of(&batch, retry, &responses);
    let acknowledged = responses.iter().flatten().filter(|response| response.status == 200);
    let acknowledged = acknowledged.map(|response| response.received).min();
    run.note(batch, sent, acknowledged.map_or(Outcome::Unknown, Outcome::Acknowledged));
    deviation
}

fn deviation_of(batch: &Batch, retry: Retry, responses: &[Result<Response>]) -> Option<String> {
    let mut expected = Expected::counts(200, batch.sent.len(), batch.accepted());
    if let Some(identifier) = &batch.identifier {
        expected = expected.body("/requestIdentifier", json!(identifier));
    }
    let mut replayed = Vec::new();
    for response in responses {
        match expected.check(response) {
            Ok(response) => replayed.push(response.body.get("replayed") == Some(&json!(true))),
            Err(difference) => return Some(difference),
        }
    }
    if retry == Retry::During {
        // Either of the two may be the first to arrive.
        replayed.sort_unstable();
    }
    let expected = if retry == Retry::Never { vec![false] } else { vec![false, true] };
    (replayed != expected).then(|| format!("replayed is {replayed:?}, expected {expected:?}"))
}
