//! The outcome of a batch, and its response (docs/api.md, Signals).

use std::num::NonZeroUsize;

use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::signal::{RejectedSignal, Signal};
use model::validation::{FieldError, Warning};
use serde::Serialize;
use service::context::RequestContext;
use service::outcome::{EndpointOutcome, Failure};
use service::telemetry::metric::{Metrics, Percent};
use service::telemetry::request_log::count_codes;
use store::error::UnstoredReason;

use crate::rejected_log;
use crate::signals_metrics::SignalsMetric;
use crate::store_batch::StoredBatch;

/// The outcome of a batch.
#[derive(Debug)]
pub struct BatchOutcome {
    pub response: BatchResponse,
    /// The outcome of each signal, in the order of the request.
    pub verdicts: Vec<SignalVerdict>,
    /// Why signals or rejected signals are in the overflow queue, or valid ones were refused; `None` if all are
    /// stored.
    unstored_reason: Option<UnstoredReason>,
}

/// The outcome of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalVerdict {
    /// It is stored, by this request or by an earlier attempt of it.
    Stored,
    /// It is in the overflow queue.
    Deferred,
    /// It breaks a rule.
    Rejected,
    /// It is valid, but the batch was rejected because of another signal.
    RejectedWithBatch,
}

/// The response to a batch, also when nothing of it was stored.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResponse {
    /// The client's requestIdentifier, or the generated one.
    pub request_identifier: String,
    /// How many signals were received, accepted and rejected.
    #[serde(flatten)]
    pub counts: BatchCounts,
    /// The validation errors, in the order of the signals.
    pub field_errors: Vec<FieldError>,
    /// Fields of the envelope and of accepted signals that are not as in the contract.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BatchCounts {
    /// Signals in the request, valid or not.
    pub received: usize,
    /// Signals that are stored or deferred.
    pub accepted: usize,
    /// Signals that are not stored.
    pub rejected: usize,
    /// Accepted signals that this request queued, to be stored later; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<NonZeroUsize>,
    /// Whether the same request was received before.
    pub replayed: bool,
}

impl BatchOutcome {
    /// The outcome of a batch with at least one accepted signal: every valid signal is stored or, if it is
    /// deferred, queued.
    pub(crate) fn accepted(
        stored: StoredBatch<'_>,
        request_identifier: &RequestIdentifier,
    ) -> Self {
        let batch = stored.batch;
        let received = batch.received();
        let mut verdicts = Verdicts(vec![SignalVerdict::Stored; received]);
        for index in &stored.deferred {
            verdicts.set(*index, SignalVerdict::Deferred);
        }
        verdicts.set_rejected(&batch);
        let counts = BatchCounts {
            received,
            accepted: batch.signals.len(),
            rejected: batch.rejected.len(),
            deferred: NonZeroUsize::new(stored.deferred.len()),
            replayed: stored.replayed,
        };
        let mut warnings = batch.warnings;
        warnings.extend(batch.signals.into_iter().flat_map(Signal::into_warnings));
        Self {
            response: BatchResponse::new(request_identifier, counts, batch.rejected, warnings),
            verdicts: verdicts.0,
            unstored_reason: stored.unstored_reason,
        }
    }

    /// The failure when the whole batch is rejected: all of its signals are invalid or, with strict
    /// handling, one is. No signal is accepted, so nothing is replayed, and only the envelope has
    /// warnings. `unstored_reason` says why rejected signals are in the overflow queue, or valid ones
    /// were refused.
    pub(crate) fn rejected(
        batch: Batch<'_>,
        request_identifier: &RequestIdentifier,
        unstored_reason: Option<UnstoredReason>,
    ) -> Failure<Self> {
        let received = batch.received();
        let invalid = batch.rejected.len();
        let mut verdicts = Verdicts(vec![SignalVerdict::RejectedWithBatch; received]);
        verdicts.set_rejected(&batch);
        let counts = BatchCounts {
            received,
            accepted: 0,
            rejected: received,
            deferred: None,
            replayed: false,
        };
        let warnings = batch.warnings;
        let outcome = Self {
            response: BatchResponse::new(request_identifier, counts, batch.rejected, warnings),
            verdicts: verdicts.0,
            unstored_reason,
        };
        Failure::Rejected {
            detail: rejection_detail(invalid, received),
            outcome,
        }
    }
}

impl BatchResponse {
    fn new(
        request_identifier: &RequestIdentifier,
        counts: BatchCounts,
        rejected: Vec<RejectedSignal<'_>>,
        warnings: Vec<Warning>,
    ) -> Self {
        let errors = rejected.into_iter().flat_map(|signal| signal.errors);
        Self {
            request_identifier: request_identifier.as_sent().to_owned(),
            counts,
            field_errors: errors.collect(),
            warnings,
        }
    }
}

/// The verdicts of a batch, by the indices of its signals.
struct Verdicts(Vec<SignalVerdict>);

impl Verdicts {
    fn set(&mut self, index: usize, verdict: SignalVerdict) {
        let entry = self.0.get_mut(index);
        *entry.expect("the index of a signal is less than the number of signals") = verdict;
    }

    fn set_rejected(&mut self, batch: &Batch<'_>) {
        for signal in &batch.rejected {
            self.set(signal.index, SignalVerdict::Rejected);
        }
    }
}

impl EndpointOutcome for BatchOutcome {
    fn body(&self) -> impl Serialize {
        &self.response
    }

    fn unstored_reason(&self) -> Option<&UnstoredReason> {
        self.unstored_reason.as_ref()
    }

    fn field_errors(&self) -> &[FieldError] {
        &self.response.field_errors
    }

    fn add_metrics(&self, metrics: &mut Metrics) {
        let counts = &self.response.counts;
        let deferred = counts.deferred.map_or(0, NonZeroUsize::get);
        // This is added for every batch, also when it is 0, so that the number of its values is the
        // number of batches.
        metrics.add_count(SignalsMetric::SignalsAccepted.name(), counts.accepted);
        metrics.add_count_if_any(SignalsMetric::SignalsDeferred.name(), deferred);
        metrics.add_count_if_any(SignalsMetric::SignalsRejected.name(), counts.rejected);
        if counts.rejected > 0 {
            let percent = Percent {
                part: counts.rejected,
                whole: counts.received,
            };
            metrics.add_percent(SignalsMetric::RejectionRate.name(), percent);
        }
        metrics.add_if(SignalsMetric::Replays.name(), counts.replayed);
    }

    fn write_lines(&self, context: &RequestContext) {
        for (code, count) in count_codes(&self.response.field_errors) {
            rejected_log::write_code_count(context, code, count);
        }
    }
}

fn rejection_detail(invalid: usize, received: usize) -> String {
    let verb = if invalid == 1 { "is" } else { "are" };
    let strict = if invalid < received {
        " and Prefer: handling=strict was set"
    } else {
        ""
    };
    format!(
        "Nothing was stored: {invalid} of {received} signals {verb} invalid{strict}. fieldErrors \
         says what is wrong."
    )
}
