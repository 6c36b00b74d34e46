//! The domain: customers, signals, batches, identifiers, accounts, API keys, and the validation
//! errors of all of them.
//!
//! A value is parsed from text once and is valid from then on. The crate knows neither AWS nor HTTP
//! nor an async runtime: it does not know where a text came from, which status an error becomes, or
//! how an item is written and read. It knows what of the store is a part of the contract: which
//! numbers, names and nestings DynamoDB can hold exactly, which names a stored customer uses itself
//! ([`customer::attributes`]), and how an account or a key begins a partition key
//! ([`account::AccountId::partition_key`], [`api_key::KeyHash::partition_key`]).

pub mod account;
pub mod api_key;
pub mod batch;
pub mod customer;
pub mod digest;
mod hint;
pub mod identifier;
pub mod json;
pub mod key_entry;
pub mod limits;
pub mod never_accepted;
pub mod number;
pub mod pointer;
pub mod signal;
pub mod storable;
mod suggestion;
pub mod timestamp;
pub mod validation;
