//! The tests of the contract. Each test has its own emulator in memory, so tests share no data.
//!
//! The tests of a rule are in the module of its area:
//!
//! | area | modules |
//! |---|---|
//! | who may send (docs/api.md, API keys) | `auth`; without the key table `tests/simulator/tests/scripted` |
//! | what a request may contain (docs/api.md, Errors and Limits): a rule and its boundary | unit tests of `shared/model` (`customer/tests.rs`, `signal/tests.rs`, `identifier.rs`) and of `shared/service` (`body/tests.rs`) |
//! | the responses to what it may not contain | `openapi::responses`, `echoed_values`, `malformed_events` |
//! | what a hostile body costs | `resource_usage` |
//! | any body: the parser against a second one, no panic | `properties`, `fuzz_corpus` |
//! | customers, and signals that are rejected or sent again (docs/api.md) | `customers`, `rejected_signals`, `idempotency`, `ignored_headers`, `storable_at_the_limits`, `sample_events` |
//! | DynamoDB fails (docs/outages.md) | `tests/simulator/tests/scripted`; `faults` with sockets and processes |
//! | what is stored (docs/data-model.md) | `data_model` |
//! | the delivery (delivery/README.md) | `delivery` |
//! | logs, metrics and alarms (docs/runbook.md) | `logs`, `metrics`, `alarms`, `canary` |
//! | the local stack and its inspector (docs/local.md) | `local_stack`, `inspector` |
//! | pages and openapi.yaml say what the code does | `docs`, `openapi`, `readme`, `routes` |
//! | how a function starts and connects | `configuration`, `amazon_roots` |
//! | the operator's commands: keys, erasure, redrive and the others (docs/cli.md) | `tools/intake/tests/commands` |
//! | template.yaml, permissions and a deployment | `tests/deploy`, by `python3 tests/deploy/run.py` |
//! | the test programs themselves | `consistency_checker` for `consistency`; unit tests in `emulator`, `tests/simulator` and `tests/bench` |
//! | what tests of several areas are made of | `support` |
#![expect(
    clippy::unwrap_used,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod alarms;
mod amazon_roots;
mod auth;
mod canary;
mod configuration;
mod consistency_checker;
mod customers;
mod data_model;
mod delivery;
mod docs;
mod echoed_values;
mod faults;
mod fuzz_corpus;
mod idempotency;
mod ignored_headers;
mod inspector;
mod local_stack;
mod logs;
mod malformed_events;
mod metrics;
mod openapi;
mod properties;
mod readme;
mod rejected_signals;
mod resource_usage;
mod routes;
mod sample_events;
mod storable_at_the_limits;
mod support;
