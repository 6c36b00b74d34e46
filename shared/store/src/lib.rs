//! The tables, one file each, the messages of the overflow queue, and the key snapshot.
//!
//! This crate knows items, conditions and retries. It must not know which HTTP status an error
//! becomes.
//!
//! Most modules have no unit tests, because they matter only with DynamoDB at the other end. What is
//! stored is tested in `tests/integration`; retries, late writes, the drain and the key snapshot in
//! `tests/simulator/tests/scripted`.

pub mod api_keys;
pub mod attributes;
pub mod batch_context;
pub mod batch_pipeline;
mod bulk_write;
pub mod customers;
mod dynamodb_json;
pub mod error;
pub mod fence;
pub mod idempotency;
pub mod key_snapshot;
pub mod overflow_messages;
pub mod rejected_signals;
pub mod retry;
pub mod same_value;
pub mod signals;

pub use self::bulk_write::ItemOutcome;
