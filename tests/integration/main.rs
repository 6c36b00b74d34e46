//! The contract, test by test. Each test has an emulator of its own and leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "only tests are in here: to panic is to fail the test")]

mod auth;
mod consistency_checker;
mod customers;
mod sample_events;
mod faults;
mod resource_limits;
mod idempotency;
mod local_stack;
mod logs;
mod malformed_input;
mod malformed_events;
mod openapi;
mod outages;
mod properties;
mod readme;
mod rejected_signals;
mod routes;
mod signals;
