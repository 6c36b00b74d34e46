//! Lambda and HTTP: what both functions do with a request before and after their own work.
//!
//! A request passes these in order: [`runtime`] reads Lambda's event, [`request`] finds its route, [`auth`] finds its
//! account, [`request`] turns its bytes into JSON text; the function parses and stores; [`response`] turns the outcome into a
//! response and one log line, by way of [`problem`] where it failed.
//!
//! | module | knows | does not know |
//! |---|---|---|
//! | [`runtime`] | Lambda's events | what they ask for |
//! | [`invocation`] | the time of arrival and the deadline | everything else |
//! | [`auth`] | API keys and how long a look-up is cached | routes, bodies |
//! | [`request`] | routes, media types, encodings, sizes | what a body means |
//! | [`response`] | responses, panics, the log line | the endpoints |
//! | [`problem`] | the only table from failure to HTTP | how a failure came about |
//! | [`config`] | environment variables | what they are for |
//! | [`telemetry`] | where log lines go | what they say |

pub mod auth;
pub mod config;
pub mod invocation;
pub mod problem;
pub mod request;
pub mod response;
pub mod runtime;
pub mod telemetry;
