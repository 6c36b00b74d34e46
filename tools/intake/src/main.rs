//! `cargo intake`: the operator's command line. Never deployed.
//!
//! [`options`] lists the commands; each has a module with its name. [`stack`] finds the tables and
//! the credentials, [`output`] writes results, [`confirm`] asks before something is destroyed.
//!
//! The tool shares with the functions, in [`model`] and [`store`], what must not differ: parsing,
//! storing, hashing keys. Scans, queries and deletions are here, since the functions' roles do not
//! permit them.

mod accounts;
mod aws_client;
mod check_result;
mod confirm;
mod contracts;
mod customers;
mod doctor;
mod error;
mod http;
mod import;
mod interrupt;
mod items;
mod keys;
mod options;
mod output;
mod overflow;
mod rejected;
mod signals;
mod stack;
mod time_args;
mod verify;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::read();
    let outcome = tokio::runtime::Runtime::new()
        .context("Cannot start the async runtime")
        .and_then(|runtime| runtime.block_on(options.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed standard output before the end, as `head` does: it has what it wants.
        Err(error)
            if error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
