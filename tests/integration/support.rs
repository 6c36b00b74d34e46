//! What tests of several areas are made of.
//!
//! | module | is for |
//! |---|---|
//! | `delivery` | a process of the deliver function with its targets |
//! | `requests` | requests with as many signals as a test needs |
//! | `items` | items of DynamoDB, read, changed past the functions or written as JSON |
//! | `logs` | what functions and processes write to the log |
//! | `clock` | the time at which requests arrive |
//! | `page` | pages of the documentation: sections, tables, code blocks |
//! | `gzip` | compressed bodies and objects |
//! | `faulted` | a check that a fault proxy has faulted a call |
//! | `slow_server` | a server that responds late |
//! | `template` | the templates as they are written |
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

pub(crate) mod clock;
pub(crate) mod delivery;
pub(crate) mod faulted;
pub(crate) mod gzip;
pub(crate) mod items;
pub(crate) mod logs;
pub(crate) mod page;
pub(crate) mod requests;
pub(crate) mod slow_server;
pub(crate) mod template;

use harness::RequestBuilder;
