//! What came of a batch, and how it is told: the 200, and the 400 with the same counts.

use model::batch::Batch;
use model::fault::{Fault, FaultCode, Warning};
use model::identifier::RequestIdentifier;
use model::place::Path;
use serde::Serialize;
use service::problem::{NothingAccepted, Problem};
use service::response::Answer;
use service::telemetry::line::Signals;
use store::rejected_signals::Kept;

/// A batch that was done with, as far as it was valid.
pub(crate) struct Outcome<'a> {
    pub(crate) batch: Batch<'a>,
    pub(crate) request_identifier: RequestIdentifier,
    pub(crate) replayed: bool,
    /// Signals that DynamoDB refused although they passed every check: their indices, in order.
    pub(crate) refused: Vec<usize>,
}

impl Outcome<'_> {
    /// The counts, for the log.
    pub(crate) fn counts(&self) -> Signals {
        Signals { received: self.batch.received(), accepted: self.accepted(), replayed: self.replayed }
    }

    /// A 200 when at least one signal was accepted, a 400 when none was.
    pub(crate) fn answer(self) -> Result<(Answer, Vec<Fault>), Problem> {
        let faults = self.faults();
        let Signals { received, accepted, replayed } = self.counts();
        if accepted == 0 {
            return Err(nothing_accepted(&self.request_identifier, [received; 2], faults, self.batch.warnings));
        }
        let answer = Answer::json(&Accepted {
            request_identifier: self.request_identifier.as_sent(),
            received,
            accepted,
            rejected: received.saturating_sub(accepted),
            replayed,
            field_errors: &faults,
            warnings: &self.batch.warnings,
        });
        Ok((answer, faults))
    }

    fn accepted(&self) -> usize {
        self.batch.signals.len().saturating_sub(self.refused.len())
    }

    /// All faults in the order of the signals.
    fn faults(&self) -> Vec<Fault> {
        let invalid = self
            .batch
            .rejected
            .iter()
            .flat_map(|rejected| rejected.faults.iter().map(|fault| (rejected.index, fault.clone())));
        let refused = self.refused.iter().map(|index| (*index, refused_by_store(*index)));
        let mut faults: Vec<_> = invalid.chain(refused).collect();
        faults.sort_by_key(|(index, _)| *index);
        faults.into_iter().map(|(_, fault)| fault).collect()
    }
}

/// The signals that DynamoDB refused, as they are kept, with what is wrong with them.
pub(crate) fn keep_refused<'a>(batch: &'a Batch<'_>, refused: &[usize], faults: &'a [Fault]) -> Vec<Kept<'a>> {
    let signals = batch.signals.iter().filter(|signal| refused.contains(&signal.index));
    let kept = signals.zip(faults).map(|(signal, fault)| Kept {
        index: signal.index,
        payload: signal.payload,
        who: Some(signal.identity.subject_id()),
        faults: std::slice::from_ref(fault),
    });
    kept.collect()
}

/// What is wrong with a signal that only DynamoDB finds something wrong with.
pub(crate) fn refused_by_store(index: usize) -> Fault {
    let signals = Path::Member(&Path::Root, "signals");
    Fault::new(&Path::Element(&signals, index), FaultCode::RefusedByStore, "was refused by the database")
}

/// The refusal of a request with strict handling, of which one signal is invalid.
pub(crate) fn refuse_whole(request_identifier: &RequestIdentifier, batch: Batch<'_>) -> Problem {
    let counts = [batch.rejected.len(), batch.received()];
    let faults = batch.rejected.into_iter().flat_map(|rejected| rejected.faults).collect();
    nothing_accepted(request_identifier, counts, faults, batch.warnings)
}

fn nothing_accepted(
    request_identifier: &RequestIdentifier,
    [invalid, received]: [usize; 2],
    faults: Vec<Fault>,
    warnings: Vec<Warning>,
) -> Problem {
    Problem::NothingAccepted(Box::new(NothingAccepted {
        request_identifier: request_identifier.as_sent().to_owned(),
        received,
        accepted: 0,
        rejected: received,
        invalid,
        replayed: false,
        warnings,
        faults,
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
    field_errors: &'a [Fault],
    warnings: &'a [Warning],
}
