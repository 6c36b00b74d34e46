//! Updates and signals that DynamoDB does not acknowledge in time go to the overflow queue, and a
//! drain stores them (docs/outages.md, The overflow queue).

mod customers;
mod drain;
mod hedged_requests;
mod newest;
mod queue;
mod rejected_signals;
mod retries;
mod signals;
mod write_budget;
