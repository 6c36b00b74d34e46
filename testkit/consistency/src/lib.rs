//! The consistency checker: compares what clients sent and received with what is stored. What is
//! expected is written out here: no code of the service decides it. There is one exception:
//! where an update was deferred or sent again, the clocks of the processes order the writes of a
//! field, so the checker uses the latest time that these clocks may have shown.
//!
//! What clients send is here too ([`generated`]), because each signal and each value says which request
//! it belongs to. `simulator` and `history` send it, and read what is stored with [`stored`].
#![expect(
    clippy::indexing_slicing,
    reason = "only tests call this: to panic is to fail the test"
)]

pub mod checker;
pub mod generated;
mod generated_signal;
mod item;
mod recording;
mod report;
mod run_record;
pub mod stored;

pub use generated_signal::GeneratedSignal;
pub use run_record::{
    ClientOutcome, LATE_CALLS, Micros, RecordedRequest, RecordedUpdate, RunRecord, SentSignal,
    Stored, StoredRejectedSignal, StoredSignal,
};
