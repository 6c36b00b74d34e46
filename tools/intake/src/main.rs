//! `cargo intake`: the operator's command line. Never deployed.
//!
//! [`options`] says which commands there are; each has a module of its own name. [`stack`] finds the tables and the
//! credentials, [`output`] writes for people or for programs, [`confirm`] asks before anything is destroyed.
//!
//! What the functions do as well (parse, store, hash a key) is called from [`model`] and [`store`], so that it cannot differ. What
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
mod signals;
mod stack;
mod time_args;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use crate::options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = tokio::runtime::Runtime::new()
        .context("Cannot start the async runtime")
        .and_then(|runtime| runtime.block_on(options.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed standard output before the end, as `head` does: it has what it wants.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
