//! Any text as the body of `POST /api/event-flows/signal`: every signal of it is accepted or rejected, once, and what
//! was rejected has a reason.

use model::batch::{Batch, BatchError};
use model::json::JsonText;
use model::limits::{MAX_ERRORS_PER_SIGNAL, MAX_SIGNALS_PER_REQUEST};

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let Ok(json) = JsonText::parse(text) else { return };
    match Batch::parse(json) {
        Ok(batch) => {
            let mut indices: Vec<_> = batch.signals.iter().map(|signal| signal.index).collect();
            indices.extend(batch.rejected.iter().map(|rejected| rejected.index));
            indices.sort_unstable();
            assert_eq!(indices, (0..batch.received()).collect::<Vec<_>>());
            assert!(batch.received() <= MAX_SIGNALS_PER_REQUEST);
            for rejected in &batch.rejected {
                assert!((1..=MAX_ERRORS_PER_SIGNAL).contains(&rejected.errors.len()));
            }
        }
        Err(BatchError::Invalid(errors)) => assert!(!errors.is_empty()),
        Err(BatchError::TooManySignals { sent }) => assert!(sent > MAX_SIGNALS_PER_REQUEST),
    }
}
