//! The three functions over a simulated AWS, in virtual time, from a seed.
//!
//! Everything runs in one thread with tokio's paused time, and every choice is drawn from the seed: a
//! seed is the same run again, call by call. The functions are those that Lambda runs. Their HTTP
//! connectors lead to the AWS of the run. Environments have clocks of their own, serve one request at a
//! time, and are killed while their calls are under way. At the end, the checker of `consistency`
//! compares what clients sent and got with what is stored.
//!
//! | module | is for |
//! |---|---|
//! | [`run`], [`scenario`] | a run from its seed; what it is like |
//! | [`aws`] | the tables, the queues and the bucket; what fails |
//! | [`lambda`], [`environment`] | who serves a request; a function with its clock |
//! | [`clients`], [`operators`], [`keys`] | who sends requests; imports, erasures and revocations |
//! | [`deliveries`] | the messages that the overflow function gets |
//! | [`promises`], [`log_check`] | what must hold at every moment; what is logged |
//! | [`trace`], [`story`] | what happened; what is told of it |
//! | [`cut`], [`shrink`] | what can be left out of a run; a shorter run that breaks the same promise |
//! | [`outages`] | the table of outages |
//! | [`output`] | what is printed |
//!
//! What only a process can show is tested on processes: hyper, TLS and the pools of connections, the
//! Runtime API, `main.rs`, freezes, memory and start-up.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "only `cargo simulate` and tests call this: to panic is to fail the run"
)]

pub mod aws;
pub mod clients;
pub mod cut;
pub mod deliveries;
pub mod environment;
pub mod keys;
pub mod lambda;
pub mod log_check;
pub mod operators;
pub mod outages;
pub mod output;
pub mod promises;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod story;
pub mod trace;
