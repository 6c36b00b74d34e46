//! The functions over the simulated AWS, in virtual time, where a test says which calls fail and how,
//! what the clock says, and what is queued and stored. Every call takes [`LATENCY`](support::stack::LATENCY)
//! unless a test says otherwise, so a test can tell to the millisecond how long a response took.
//!
//! | module | is for |
//! |---|---|
//! | `faults` | DynamoDB fails: what clients get (docs/outages.md, How long a request waits) |
//! | `overflow` | what is deferred, and drained (docs/outages.md, The overflow queue) |
//! | `key_lookup` | the look-up of a key, also when the key table fails (docs/outages.md, The key snapshot) |
//! | `budget` | how long each part of a request may take (docs/internals/design.md, Calls to AWS) |
//! | `support` | the functions and their AWS, and requests to them |
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod budget;
mod faults;
mod key_lookup;
mod overflow;
mod support;
