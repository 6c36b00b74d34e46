//! What the tests, the fuzz targets and the tools' tests are made of.
//!
//! A function is called in one of two ways: a [`TestApp`] has the three functions in this process,
//! over an emulator in memory; a [`FunctionProcess`](function_process::FunctionProcess) is a
//! process of one function as Lambda runs it. Both take events of API Gateway, and the overflow
//! function those of SQS. Only the endpoints of DynamoDB, SQS and S3 and the time of day are
//! replaced, and nothing is left behind.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`processes`] | a process of a function, and what surrounds it | what is tested |
//! | [`fault_proxy`] | failing calls to AWS | whether a function gets over it |
//! | [`fake_s3`] | a key snapshot in S3 | who reads it |
//! | `programs` | building the programs; a process over an emulator | what they do |
//! | `test_app`, `request_builder` | the functions in this process; a request to them | what they respond |
//! | `app_behind_proxy` | the functions in this process while DynamoDB fails | what is deferred |
//! | `tables`, `clients`, `keys` | template.yaml's tables; clients for them; API keys in them and in a key snapshot | what is called |
//! | `other_dynamodb` | DynamoDB Local, and the records of its streams | what is tested |
//! | `http_gateway` | the functions in this process behind HTTP | what a request means |
//! | [`fuzz_targets`] | what holds for every input of a fuzz target | where inputs come from |
//! | `local_stack` | `cargo dev` as a process | what it serves |
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "only tests call this: to panic is to fail the test"
)]

mod app_behind_proxy;
mod clients;
pub mod fake_s3;
pub mod fuzz_targets;
mod http_gateway;
mod keys;
mod local_stack;
mod other_dynamodb;
mod programs;
mod request_builder;
mod tables;
mod test_app;

pub use app_behind_proxy::AppBehindProxy;
pub use clients::client_at;
pub use emulator::fault_proxy;
pub use fake_s3::KEY_SNAPSHOT_BUCKET;
pub use http_gateway::HttpGateway;
pub use keys::{create_keys_with_snapshot, key_entry, store_key};
pub use local_stack::{LocalStack, call};
pub use other_dynamodb::stream_records;
pub use processes::{fake_targets, function_process, http_server, runtime_api};
pub use programs::{build, build_functions, emulator_options};
pub use request_builder::{RequestBuilder, TestResponse, read_event};
pub use tables::{table_name, template};
pub use test_app::{Item, TestApp};
