//! `cargo intake` as operators meet it: a process with an exit code, standard output and standard error, over a private
//! emulator with the real functions beside it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

mod account_isolation;
mod configuration;
mod customers;
mod export;
mod import;
mod import_interrupted;
mod keys;
mod operator;
mod rejected_signals;
mod sample_data;
mod signals;
mod terminal;
