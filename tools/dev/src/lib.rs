//! The local stack: what `cargo dev` starts, and what the tests start a private one of.
//!
//! [`template`] reads template.yaml, the only description of tables, routes and variables. [`emulator`] serves
//! DynamoDB's protocol out of the calling process, with the tables of a template in it. [`development_key`] is the
//! one key that an emulator may know from the start.
//!
//! Nothing here knows what a customer or a signal is, and nothing that is deployed depends on this package.

mod cargo;
pub mod development_key;
pub mod emulator;
pub mod template;

pub use cargo::cargo_command;
pub use emulator::{Emulator, Storage};
pub use template::Template;
