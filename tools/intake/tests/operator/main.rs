//! `cargo intake` as an operator runs it: a process with an exit code, standard output and standard
//! error, on the emulator of a test and beside the functions.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

mod account_isolation;
mod accounts;
mod configuration;
mod contracts;
mod customer_erasure;
mod customers;
mod doctor;
mod import;
mod import_again;
mod import_interrupted;
mod key_revocation;
mod key_snapshot;
mod keys;
mod overflow;
mod rejected_signals;
mod sample_data;
mod signal_erasure;
mod signals;
mod support;
mod terminal;
mod verify;
