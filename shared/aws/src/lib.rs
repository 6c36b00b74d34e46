//! How this service reaches AWS: the configuration, HTTP and TLS, the client of DynamoDB, queues of
//! SQS, and objects of S3.
//!
//! This crate knows regions, credentials, connections and why a call failed. It must not know which
//! tables there are, or what is in an item, a message or an object. Of the domain it knows only
//! timestamps, and accounts, by which a queue groups its messages.
//!
//! Most modules have no unit tests, because they matter only with a service at the other end. Lost
//! connections, clocks, queues, S3, certificates and call statistics are tested in
//! `tests/integration`; causes and deadlines in `tests/simulator/tests/scripted`.

pub mod call_error;
pub mod call_stats;
pub mod connectors;
pub mod deadline;
pub mod dynamodb;
pub mod http_client;
pub mod s3;
pub mod sdk_config;
pub mod sqs;
pub mod tls;
pub mod variables;
