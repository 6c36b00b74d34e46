//! A run of many clients against functions that scale and are killed, over a DynamoDB that fails;
//! and what must hold at its end.
//!
//! In the manner of Jepsen: clients record their requests and the responses, and the checker of
//! [`consistency`] compares that with what is stored.
//!
//! | module | is for |
//! |---|---|
//! | `options`, `run`, `summary` | what a run is told; its steps; what is reported of it |
//! | `deployment`, `clock` | the functions and what surrounds them; a clock of each process |
//! | `windows`, `faults` | when DynamoDB, SQS and S3 fail; how single calls fail |
//! | `traffic` | all clients of a run, and the kills |
//! | `clients`, `batches`, `updates`, `imports` | sending it, and recording what is received |
//! | `drain` | the drain of the overflow queue |
//! | `log_check` | reading what is logged |
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

mod batches;
mod clients;
mod clock;
mod deployment;
mod drain;
mod faults;
mod imports;
mod log_check;
mod options;
mod run;
mod summary;
mod traffic;
mod updates;
mod windows;

pub use options::RunOptions;
pub use run::run;
pub use summary::Summary;
