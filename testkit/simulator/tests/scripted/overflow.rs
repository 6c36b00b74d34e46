//! Updates and signals that DynamoDB does not acknowledge in time go to the overflow queue, and a
//! drain stores them (docs/outages.md, The overflow queue).

mod drained_batches;
mod drained_rejected_signals;
mod drained_updates;
mod failed_drains;
mod hedged_requests;
mod newest_update;
mod queue_messages;
mod retried_batches;
mod write_budget;
