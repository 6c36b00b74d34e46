//! What the service accepts: customers, signals, their identifiers, and what was wrong with the rest.
//!
//! Everything here is made from text and is right once it exists. The module knows neither AWS nor HTTP: it does not
//! know where a text came from, which status a fault becomes, or how an item is stored. What it does know of DynamoDB
//! is what a number, a name and a nesting may be there, because SPEC 2.3 makes these rules part of the contract.

pub mod account;
pub mod batch;
pub mod customer;
pub mod document;
pub mod fault;
pub mod identifier;
pub mod limits;
pub mod number;
pub mod place;
pub mod resemblance;
pub mod signal;
pub mod timestamp;
pub mod token;
