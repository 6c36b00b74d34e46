//! The tests of the contract. Each test has its own emulator in memory, so tests share no data.
//!
//! The tests of a rule are in the module of its area:
//!
//! | area | modules |
//! |---|---|
//! | who may send (docs/api.md, API keys) | `auth`, `key_snapshot`; `faults::auth` without the key table |
//! | what a request may contain (docs/api.md, Errors and Limits) | `malformed_input`, `malformed_events`, `resource_limits`, `properties`, `fuzz_corpus` |
//! | customers, and signals that are rejected or sent again (docs/api.md) | `customers`, `rejected_signals`, `idempotency`, `sample_events` |
//! | DynamoDB fails (docs/reliability.md) | `faults`: what clients get; `overflow`: what is deferred and drained |
//! | what is stored (docs/data-model.md) | `data_model` |
//! | the delivery (delivery/README.md) | `delivery` |
//! | logs, metrics and alarms (docs/runbook.md) | `logs`, `metrics`, `alarms` |
//! | the local stack and its inspector (docs/clients.md) | `local_stack`, `inspector` |
//! | pages and openapi.yaml say what the code does | `docs`, `openapi`, `readme`, `routes` |
//! | how a function starts and connects | `configuration`, `amazon_roots`, `s3` |
//! | the test programs themselves | `consistency_checker`, `function_pool` |
//! | what tests of several areas are made of | `support` |
#![expect(
    clippy::unwrap_used,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod alarms;
mod amazon_roots;
mod auth;
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
mod properties;
mod readme;
mod rejected_signals;
mod resource_limits;
mod routes;
mod s3;
mod sample_events;
mod support;
