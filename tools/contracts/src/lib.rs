//! Event contracts: one JSON Schema (2020-12) of the `data` of each type of signals, in the file
//! `DIR/<type>.json` (docs/local.md, Event contracts). [`judge`] has the verdicts on signals, and
//! [`infer`] makes contracts of signals. Must not know where signals come from.
//!
//! Both parse `data` with `serde_json`'s own numbers: one that a 64-bit integer and a double cannot
//! hold is judged as the nearest double.

mod file_name;
pub mod infer;
mod json;
pub mod judge;
mod schema;
