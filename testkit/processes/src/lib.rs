//! A function's process and what surrounds it, each on loopback: Lambda's Runtime API, and servers
//! that stand in for DynamoDB and for the targets of the delivery. Nothing here is compiled with
//! the SDK, so a benchmark compiles in seconds.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`http_server`] | serving HTTP/1.1, plain or over TLS | what is asked for |
//! | [`runtime_api`] | giving events to a process and taking its responses | what is in them |
//! | [`function_process`] | one process of a function | what is measured or expected |
//! | [`process_clock`] | giving a process a clock that is ahead or slow | what the process does |
//! | [`stub_dynamodb`] | answering calls and counting them | what was stored |
//! | [`cargo_command`] | cargo, started by a program that cargo has started | what is built |
//! | `file_limit` | how many connections a program may have | who connects |
//! | [`fake_targets`] | keeping what is delivered to a bus and a stream | what an event is about |

#![expect(
    clippy::indexing_slicing,
    reason = "only JSON is indexed, and a missing member is null"
)]

pub mod cargo_command;
pub mod fake_targets;
mod file_limit;
pub mod function_process;
pub mod http_server;
pub mod process_clock;
pub mod runtime_api;
pub mod stub_dynamodb;
