//! DynamoDB, SQS and S3 on one machine: `cargo dev` serves them, and tests start private ones.
//!
//! [`template`] reads template.yaml, as [`yaml`] has it, the only description of tables, routes and
//! variables. [`emulator`] serves DynamoDB's protocol out of the calling process, with the tables
//! of a template in it. [`sqs`] serves a queue, and delivers its messages to a function as Lambda
//! does. [`s3`] keeps objects in memory. [`fault_proxy`] makes some calls fail on their way to one of
//! them. [`development_key`] is the one key that an emulator may know from the start.
//!
//! Nothing here knows what a customer or a signal is, and nothing that is deployed depends on this
//! package.

pub mod development_key;
pub mod emulator;
pub mod fault_proxy;
pub mod s3;
pub mod sqs;
pub mod template;
pub mod yaml;

pub use emulator::{Emulator, Storage};
pub use template::Template;

/// Options that open a file for writing. If the file is new, only its owner can read it, because it
/// will hold customers.
fn owner_only() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
