//! What both functions are made of.
//!
//! A request passes these in order: [`request`] finds its route, [`auth`] says whose it is, [`request`] turns its bytes
//! into JSON text, [`model`] makes it something that cannot be wrong, [`store`] writes that to DynamoDB, and [`answer`]
//! turns what came of it into a response and one log line, by way of [`problem`] where it went wrong.
//!
//! | module | knows | refuses to know |
//! |---|---|---|
//! | [`model`] | the contract's rules | AWS, HTTP |
//! | [`store`] | tables, keys, DynamoDB's wire | status codes |
//! | [`auth`] | keys and how long an answer about one holds | routes, bodies |
//! | [`request`] | routes, media types, encodings, sizes | what a body means |
//! | [`problem`] | the only table from failure to HTTP | how a failure came about |
//! | [`digest`] | SHA-256 | what of |
//! | [`answer`] | responses, panics, the log line | the endpoints |
//! | [`environment`] | the variables | what they are for |
//! | [`runtime`] | Lambda's events | what they ask for |
//! | [`invocation`] | what time it is, and how much is left | everything else |
//! | [`telemetry`] | where log lines go | what they say |

pub mod answer;
pub mod auth;
pub mod digest;
pub mod environment;
pub mod invocation;
pub mod model;
pub mod problem;
pub mod request;
pub mod runtime;
pub mod store;
pub mod telemetry;
