//! DynamoDB: one file per table, the client, and the JSON that is written to DynamoDB. The overflow
//! queue, and objects of S3.
//!
//! This crate knows keys, conditions and retries. It must not know which HTTP status an error
//! becomes.

pub mod api_keys;
pub mod attributes;
pub mod batch_context;
mod batch_write;
pub mod call_stats;
pub mod circuit_breaker;
pub mod client;
pub mod customers;
pub mod deadline;
mod dynamodb_json;
pub mod environment;
pub mod error;
mod fence;
mod http;
pub mod idempotency;
pub mod key_snapshot;
pub mod overflow;
pub mod queue;
pub mod rejected_signals;
pub mod s3;
pub mod signals;
pub mod table_access;
pub mod tls;
