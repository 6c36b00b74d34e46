//! `cargo intake`: the operator's command line. Never deployed.
//!
//! [`options`] says which commands there are; each has a module of its own name. [`stack`] finds the tables and the
//! credentials, [`output`] writes for people or for programs, [`confirm`] asks before anything is destroyed.
//!
//! What the functions do as well (parse, store, hash a key) is called from [`shared`], so that it cannot differ. What
//! only an operator does (scan, query, delete) lives here, since the functions' roles do not allow it.

mod batch_delete;
mod confirm;
mod customers;
mod error;
mod import;
mod item;
mod keys;
mod options;
mod output;
mod progress;
mod rejected;
mod seed;
mod signals;
mod stack;
mod time_args;

use std::process::ExitCode;

use clap::Parser;

use crate::error::Error;
use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = tokio::runtime::Runtime::new()
        .map_err(|error| Error::new(format!("Cannot start: {error}.")))
        .and_then(|runtime| runtime.block_on(options.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
