//! The consistency checker: compares what clients sent and received with what is stored. It must
//! not know how the service works, and the service nothing of it.

pub mod checker;
mod item;
mod record;
mod report;
mod signal;

pub use item::{kept_signal, stored_signal};
pub use record::{
    ClientOutcome, Fingerprint, KeptSignal, Micros, RecordedRequest, RecordedUpdate, RunRecord,
    SentSignal, Stored, StoredSignal,
};
pub use signal::GeneratedSignal;
