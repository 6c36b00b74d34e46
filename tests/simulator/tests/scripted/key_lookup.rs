//! The look-up of a key: how often the key table is read, and which keys are valid while it is unavailable
//! (docs/outages.md, The key snapshot).

mod decisions;
mod key_table_reads;
mod slow_table;
mod snapshot_reads;
mod unreadable_snapshots;
