//! Which keys are valid while the key table is unavailable, where there is a key snapshot
//! (docs/outages.md, The key snapshot).

mod decisions;
mod hostile;
mod reads;
mod slow_table;
