//! What the integration tests stand on: both functions over a private emulator, called by real API Gateway events.
//!
//! Nothing is replaced but the place of DynamoDB and the time of day. A [`TestApp`] leaves nothing behind: its emulator
//! lives in memory, on a port of its own, and ends with it.
#![expect(
    clippy::missing_panics_doc,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

pub mod faults;
pub mod history;
pub mod hostile_bodies;
mod local_stack;
mod process;
mod request_builder;
mod test_app;

pub use local_stack::{LocalStack, Reply};
pub use process::{FunctionProcess, Log, build_functions};
pub use request_builder::{RequestBuilder, TestResponse, read_event};
pub use test_app::{Tables, TestApp, client_at, template};
