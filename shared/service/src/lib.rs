//! Lambda and HTTP: what the functions do before and after their own work. This crate must not know
//! what is in a batch or an update of a customer.
//!
//! [`runtime`] asks Lambda for events. [`runtime::http`] parses one, finds the [`route`], calls the
//! function, writes the log line ([`telemetry`]) and the [`response`]. The function authenticates
//! the request ([`auth`]), reads its body ([`body`]), and returns its [`outcome`] or a [`problem`].
//!
//! | module | knows | must not know |
//! |---|---|---|
//! | [`process`] | the process of a function on Lambda | what a function does |
//! | [`runtime`] | Lambda's events | what a function does |
//! | [`runtime::http`] | the steps of a request, panics | what a function does |
//! | [`context`] | when a request was received, what is known of it | what it asks for |
//! | [`budget`] | how long each part of a request may take | what a part does |
//! | [`route`] | paths and methods | everything else |
//! | [`auth`] | API keys: the cache, the table and the snapshot | routes, bodies |
//! | [`body`] | media types, encodings, sizes | what a body means |
//! | [`prefer`] | the header `Prefer` | everything else |
//! | [`outcome`] | the outcome of a request | which endpoints there are |
//! | [`problem`], [`problem_document`] | the table from errors to HTTP | how an error came about |
//! | [`response`] | the HTTP response | why it is this one |
//! | [`telemetry`] | the log and the metrics | how an item is stored |

pub mod auth;
pub mod body;
pub mod budget;
pub mod context;
pub mod outcome;
pub mod prefer;
pub mod problem;
pub mod problem_document;
pub mod process;
pub mod response;
pub mod route;
pub mod runtime;
pub mod telemetry;
