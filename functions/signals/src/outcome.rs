//! What came of a batch, and how it is told: the 200, and the 400 with the same counts.

use model::batch::Batch;
use model::identifier::RequestIdentifier;
use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode, Warning};
use serde::Serialize;
use service::problem::{BatchRejected, Problem};
use service::response::Answer;
use service::telemetry::request_log::BatchCounts;
use store::rejected_signals::NewRejectedSignal;

/// A batch that was done with, as far as it was valid.
pub(crate) struct BatchOutcome<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) request_identifier: RequestIdentifier,
    pub(crate) replayed: bool,
    /// Signals that DynamoDB refused although they passed every check: their indices, in order.
    pub(crate) refused: Vec<usize>,
}

impl BatchOutcome<'_> {
    /// The counts, for the log.
    pub(crate) fn counts(&self) -> BatchCounts {
        BatchCounts { received: self.batch.received(), accepted: self.accepted(), replayed: self.replayed }
    }

    /// A 200 when at least one signal was accepted, a 400 when none was.
    pub(crate) fn answer(self) -> Result<(Answer, Vec<FieldError>), Problem> {
        let errors = self.errors();
        let BatchCounts { received, accepted, replayed } = self.counts();
        if accepted == 0 {
            return Err(batch_rejected(&self.request_identifier, [received; 2], errors, self.batch.warnings));
        }
        let answer = Answer::json(&Accepted {
            request_identifier: self.request_identifier.as_sent(),
            received,
            accepted,
            rejected: received.saturating_sub(accepted),
            replayed,
            field_errors: &errors,
            warnings: &self.batch.warnings,
        });
        Ok((answer, errors))
    }

    fn accepted(&self) -> usize {
        self.batch.signals.len().saturating_sub(self.refused.len())
    }

    /// All faults in the order of the signals.
    fn errors(&self) -> Vec<FieldError> {
        let invalid = self
            .batch
            .rejected
            .iter()
            .flat_map(|rejected| rejected.errors.iter().map(|error| (rejected.index, error.clone())));
        let refused = self.refused.iter().map(|index| (*index, refused_by_store(*index)));
        let mut errors: Vec<_> = invalid.chain(refused).collect();
        errors.sort_by_key(|(index, _)| *index);
        errors.into_iter().map(|(_, error)| error).collect()
    }
}

/// The signals that DynamoDB refused, as they are kept, with what is wrong with them.
pub(crate) fn keep_refused<'a>(
    batch: &'a Batch<'_>,
    refused: &[usize],
    errors: &'a [FieldError],
) -> Vec<NewRejectedSignal<'a>> {
    let signals = batch.signals.iter().filter(|signal| refused.contains(&signal.index));
    let kept = signals.zip(errors).map(|(signal, error)| NewRejectedSignal {
        index: signal.index,
        payload: signal.payload,
        subject_id: Some(signal.identity.subject_id()),
        errors: std::slice::from_ref(error),
    });
    kept.collect()
}

/// What is wrong with a signal that only DynamoDB finds something wrong with.
pub(crate) fn refused_by_store(index: usize) -> FieldError {
    let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
    FieldError::new(
        &JsonPointer::Element(&signals, index),
        FieldErrorCode::RefusedByStore,
        "was refused by the database",
    )
}

/// The refusal of a request with strict handling, of which one signal is invalid.
pub(crate) fn refuse_whole(request_identifier: &RequestIdentifier, batch: Batch<'_>) -> Problem {
    let counts = [batch.rejected.len(), batch.received()];
    let errors = batch.rejected.into_iter().flat_map(|rejected| rejected.errors).collect();
    batch_rejected(request_identifier, counts, errors, batch.warnings)
}

fn batch_rejected(
    request_identifier: &RequestIdentifier,
    [invalid, received]: [usize; 2],
    errors: Vec<FieldError>,
    warnings: Vec<Warning>,
) -> Problem {
    Problem::BatchRejected(Box::new(BatchRejected {
        request_identifier: request_identifier.as_sent().to_owned(),
        received,
        accepted: 0,
        rejected: received,
        invalid,
        replayed: false,
        warnings,
        errors,
    }))
}

/// SPEC 2.3.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Accepted<'a> {
    request_identifier: &'a str,
    received: usize,
    #[expect(clippy::struct_field_names, reason = "the contract's own word")]
    accepted: usize,
    rejected: usize,
    replayed: bool,
    field_errors: &'a [FieldError],
    warnings: &'a [Warning],
}
