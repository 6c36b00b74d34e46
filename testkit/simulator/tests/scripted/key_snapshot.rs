//! Which keys are valid while the key table is unavailable
//! (docs/outages.md, The key snapshot).

mod decisions;
mod hostile;
mod reads;
mod slow_table;
