//! How this service reaches AWS: the configuration, HTTP and TLS, the client of DynamoDB, queues of
//! SQS, and objects of S3.
//!
//! This crate knows regions, credentials, connections and why a call failed. It must not know a
//! table, an item, or what is in a message or an object.

pub mod call_stats;
pub mod cause;
pub mod deadline;
pub mod dynamodb;
pub mod http;
pub mod queue;
pub mod s3;
pub mod sdk_config;
pub mod tls;
pub mod variables;
