//! What the tests, the benchmarks, the fuzz targets and the tools' tests are made of.
//!
//! A function is called in one of two ways: a `TestApp` has the three functions in this process, over an emulator in memory; a
//! [`FunctionProcess`](function_process::FunctionProcess) is a process of one function as Lambda runs it. Both take events of
//! API Gateway, and the overflow function those of SQS. Only the endpoints of DynamoDB and SQS and the time of day are
//! replaced, and nothing is left behind.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`http_server`], [`certificate_authority`] | serving HTTP/1.1, plain or over TLS | what is asked for |
//! | [`runtime_api`] | giving events to a process and taking its responses | what is in them |
//! | [`function_process`] | one process of a function | what is measured or expected |
//! | [`fake_dynamodb`] | answering calls and counting them | what was stored |
//! | [`fake_sqs`] | keeping the messages of a queue | what is in them |
//! | `fake_targets` | keeping what is delivered to a bus, a stream and a bucket | what an event is about |
//! | `stream_shard` | giving the records of a shard to the delivery, again until they are delivered | what is in a record |
//! | [`fault_proxy`] | failing calls to DynamoDB | whether a function gets over it |
//! | `functions` | building the programs; a process over an emulator | what they do |
//! | `test_app`, `request_builder` | the functions in this process; a request to them | what they respond |
//! | `http_gateway` | the functions in this process behind HTTP | what a request means |
//! | [`hostile_bodies`] | bodies that cost as much as they can | what they may cost |
//! | `local_stack` | `cargo dev` as a process | what it serves |
//! | [`history`] | many clients, faults and kills, and a check of what is stored | how the functions work |
//!
//! The feature `emulator` adds the last six rows and `stream_shard`, without which a benchmark compiles in seconds.
#![expect(
    clippy::missing_panics_doc,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "only tests call this: to panic is to fail the test"
)]
#![cfg_attr(feature = "emulator", expect(clippy::panic, reason = "to panic is to fail the test"))]

pub mod billed_log;
pub mod certificate_authority;
pub mod fake_dynamodb;
pub mod fake_sqs;
pub mod fake_targets;
pub mod function_process;
#[cfg(feature = "emulator")]
mod functions;
#[cfg(feature = "emulator")]
pub mod history;
#[cfg(feature = "emulator")]
pub mod hostile_bodies;
#[cfg(feature = "emulator")]
mod http_gateway;
pub mod http_server;
#[cfg(feature = "emulator")]
mod local_stack;
#[cfg(feature = "emulator")]
mod request_builder;
pub mod runtime_api;
#[cfg(feature = "emulator")]
pub mod stream_shard;
#[cfg(feature = "emulator")]
mod test_app;

pub use fault_proxy;
#[cfg(feature = "emulator")]
pub use {
    functions::{build_functions, emulator_options},
    http_gateway::HttpGateway,
    local_stack::{LocalStack, Reply},
    request_builder::{RequestBuilder, TestResponse, read_event},
    test_app::{Tables, TestApp, client_at, template},
};
