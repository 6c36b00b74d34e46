//! The contract, test by test. Each test has an emulator of its own and leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "only tests are in here: to panic is to fail the test")]

mod accounts;
mod customers;
mod events;
mod faults;
mod history;
mod hostile;
mod hostile_bodies;
mod local_stack;
mod logs;
mod odd_events;
mod openapi;
mod outages;
mod properties;
mod readme;
mod rejected;
mod retries;
mod routes;
mod signals;
