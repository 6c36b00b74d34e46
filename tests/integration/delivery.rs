//! The deliver function as Lambda runs it, with its targets.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod killed;
mod partial_batches;
mod refused_events;
mod sent_is_delivered;
mod stream_records;
mod unreadable;
mod wire;
