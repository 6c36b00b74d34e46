//! The batches of signals that `verify` sends, in rounds of three: one signal, as many as a request may
//! have, and some of which one is invalid. Must not know what is stored of them.

use std::num::NonZeroUsize;

use futures_util::{StreamExt as _, stream};
use model::limits::MAX_SIGNALS_PER_REQUEST;
use serde_json::json;

use super::report::CheckContext;
use super::sender::{AnsweredBatch, SentBatch};

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
    let mut faults_of_retries = Vec::new();
    for responses in batch_responses {
        faults.extend(responses.first.err());
        if let Some(retry) = responses.retry {
            retries += 1;
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
        format!("{retries} requests"),
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
    let AnsweredBatch { response, expected } = context.sender.send_batch(batch, &request).await;
    let accepted = expected.clone().body("/replayed", json!(false));
    let first = accepted.check(&response).map(drop);
    let mut retry = None;
    if is_retried {
        let response = context.sender.send(&request).await;
        let replayed = expected.body("/replayed", json!(true));
        retry = Some(replayed.check(&response).map(drop));
    }
    BatchResponses { first, retry }
}
