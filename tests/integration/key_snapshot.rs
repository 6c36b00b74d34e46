//! Which keys are valid while the key table is unavailable, where there is a key snapshot
//! (docs/api.md, API keys).

mod decisions;
mod hostile;
mod processes;
mod reads;
