//! Updates and signals that DynamoDB does not acknowledge in time go to the overflow queue, and a
//! drain stores them (docs/outages.md, The overflow queue).
#![expect(
    clippy::indexing_slicing,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod customers;
mod drain;
mod hedged_calls;
mod newest;
mod processes;
mod queue;
mod rejected_signals;
mod retries;
mod signals;
mod write_timeout;
