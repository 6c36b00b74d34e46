//! What a function costs, counted from outside: the guard and the goals.
//!
//! A function runs as Lambda runs it: a process that takes events from a Runtime API and writes to
//! a DynamoDB, both from `testkit/processes`. Callgrind counts instructions, because they repeat
//! where time does not.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`run`] | what `cargo bench` does | how anything is measured |
//! | `tables` | the goals, and the functions beside their peers | how anything is measured |
//! | `baseline` | the committed counts, and what differs from them | how they are counted |
//! | `observation` | time, memory and connections | which goals there are |
//! | `instructions` | instructions of a start, a first and a warm request | which goals there are |
//! | `process` | one process over a fake DynamoDB | what is measured |
//! | `certificate_authority` | a certificate authority for one run | who connects |
//! | `program` | the programs: how they are built | what is measured |
//! | `peers` | the same work in Python and in Node.js: how it is installed | what is measured |
//! | `workload` | the events that are measured | what they cost |
//! | `report` | tables, numbers and progress | what they say |

#![expect(
    clippy::indexing_slicing,
    reason = "only JSON is indexed, and a missing member is null"
)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is what it is run for"
)]

mod baseline;
mod certificate_authority;
mod instructions;
mod observation;
mod peers;
mod process;
mod program;
mod report;
pub mod run;
mod tables;
mod workload;
