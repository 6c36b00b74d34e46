//! What tests of several areas are made of.
//!
//! | module | is for |
//! |---|---|
//! | `app_behind_proxy` | an app whose calls to DynamoDB pass a fault proxy |
//! | `delivery` | a process of the deliver function with its targets |
//! | `requests` | requests with as many signals as a test needs |
//! | `items` | items of DynamoDB, read, changed past the functions or written as JSON |
//! | `logs` | what functions and processes write to the log |
//! | `clock` | the time at which requests arrive |
//! | `page` | pages of the documentation: sections, tables, code blocks |
//! | `gzip` | compressed bodies and objects |
//! | `slow_server` | a server that answers late |
//! | `template` | the templates as they are written |
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests call this: to panic is to fail the test"
)]

pub(crate) mod app_behind_proxy;
pub(crate) mod clock;
pub(crate) mod delivery;
pub(crate) mod gzip;
pub(crate) mod items;
pub(crate) mod logs;
pub(crate) mod page;
pub(crate) mod requests;
pub(crate) mod slow_server;
pub(crate) mod template;

use harness::RequestBuilder;
