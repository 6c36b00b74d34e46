//! The tests of the contract. Each test has its own emulator in memory, so tests share no data.
#![expect(
    clippy::unwrap_used,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod alarms;
mod amazon_roots;
mod auth;
mod clock;
mod configuration;
mod consistency_checker;
mod customers;
mod data_model;
mod delivery;
mod docs;
mod faults;
mod function_pool;
mod fuzz_corpus;
mod idempotency;
mod inspector;
mod key_snapshot;
mod local_stack;
mod logs;
mod malformed_events;
mod malformed_input;
mod metrics;
mod openapi;
mod overflow;
mod page;
mod properties;
mod readme;
mod rejected_signals;
mod resource_limits;
mod routes;
mod s3;
mod sample_events;
