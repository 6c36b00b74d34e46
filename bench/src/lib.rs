//! What a function costs: instructions, time, memory, calls and connections, counted from outside.
//!
//! A function runs as Lambda runs it: a process that takes events from a Runtime API and writes to a DynamoDB, both from
//! `testkit`. Callgrind counts instructions, because they repeat where time does not.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | [`requests`] | the events that are measured | what they cost |
//! | [`target`] | the programs that are measured: how they are built and started | what is measured |
//! | [`process`] | one process, alone or under callgrind | what is measured |
//! | [`callgrind`] | reading what callgrind wrote | how it came about |
//! | [`count`], [`observation`], [`binary_size`] | instructions; time, memory, calls; size and crates | which goals there are |
//! | [`measure`], [`growth`], [`prices`] | a whole run; from 1 to 500 signals; a million signals | how it is shown |
//! | [`delivery`] | a batch of records of a stream | what an event looks like |
//! | [`fault_latency`] | what a throttled call adds to the time of a request | how long that may take |
//! | [`report`], [`document`] | the tables; the page that they are written to | how anything is measured |
//! | [`baseline`] | the committed counts, and what differs from them | how they are counted |
//! | [`options`] | the command line | how it is carried out |

#![expect(clippy::indexing_slicing, reason = "only JSON is indexed, and a missing member is null")]

pub mod baseline;
pub mod binary_size;
pub mod callgrind;
pub mod count;
pub mod delivery;
pub mod document;
pub mod fault_latency;
pub mod growth;
pub mod measure;
pub mod observation;
pub mod options;
pub mod prices;
pub mod process;
pub mod report;
pub mod requests;
pub mod target;
