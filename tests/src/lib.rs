//! What the integration tests stand on: both functions over a private emulator, called by real API Gateway events.
//!
//! Nothing is replaced but the place of DynamoDB and the time of day. A [`Stack`] leaves nothing behind: its emulator
//! lives in memory, on a port of its own, and ends with it.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::missing_panics_doc,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

mod call;
pub mod faults;
pub mod history;
pub mod hostile_bodies;
mod local_stack;
mod process;
mod stack;

pub use call::{Answer, Call, read_event};
pub use local_stack::{LocalStack, Reply};
pub use process::{FunctionProcess, Log, build_functions};
pub use stack::{Stack, Tables, client_at, template};
