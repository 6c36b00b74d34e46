//! Any text as the body of `POST /api/event-flows/signal`: every signal of it is accepted or rejected, once, and what
//! was rejected has a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::batch::{Batch, BatchFault};
use model::limits::{REPORTED_PER_SIGNAL, SIGNALS_PER_REQUEST};
use model::json::JsonText;

fuzz_target!(|text: &str| {
    let Ok(json) = JsonText::parse(text) else { return };
    match Batch::parse(json) {
        Ok(batch) => {
            let mut indices: Vec<_> = batch.signals.iter().map(|signal| signal.index).collect();
            indices.extend(batch.rejected.iter().map(|rejected| rejected.index));
            indices.sort_unstable();
            assert_eq!(indices, (0..batch.received()).collect::<Vec<_>>());
            assert!(batch.received() <= SIGNALS_PER_REQUEST);
            for rejected in &batch.rejected {
                assert!((1..=REPORTED_PER_SIGNAL).contains(&rejected.faults.len()));
            }
        }
        Err(BatchFault::Invalid(faults)) => assert!(!faults.is_empty()),
        Err(BatchFault::TooManySignals { sent }) => assert!(sent > SIGNALS_PER_REQUEST),
    }
});
