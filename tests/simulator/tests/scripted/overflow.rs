//! Updates and signals that DynamoDB does not acknowledge in time go to the overflow queue, and a
//! drain stores them (docs/outages.md, The overflow queue).

mod drained_batches;
mod drained_rejected_signals;
mod drained_updates;
mod failed_drains;
mod newest_update;
mod retried_batches;
mod sent_messages;
mod write_budget;
