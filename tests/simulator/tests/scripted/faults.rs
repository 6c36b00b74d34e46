//! DynamoDB fails in each of its ways: what clients get, and what is stored.

mod hedged_requests;
mod late_writes;
mod refused_by_store;
mod statuses;
mod throttling;
mod transient;
mod unavailable;
