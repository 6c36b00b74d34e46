//! `cargo intake`: the operator's command line. Never deployed.
//!
//! [`command_line`] lists the commands; each has a module with its name. [`stack`] finds the tables and
//! the credentials, [`output`] writes results, [`confirm`] asks before something is destroyed.
//!
//! The tool parses, stores and hashes keys with the functions' own code, in [`model`] and [`store`],
//! since the two must not differ. Scans, queries and deletions are only here, since the functions'
//! roles do not permit them. It must not know how a request is processed.

mod accounts;
mod bucket;
mod check_result;
mod command_line;
mod confirm;
mod contracts;
mod customers;
mod doctor;
mod erasure;
mod exit_codes;
mod import;
mod interrupt;
mod keys;
mod lake;
mod output;
mod overflow;
mod rejected;
mod signals;
mod signals_of_type;
mod stack;
mod subject_id;
mod time_args;
mod verify;
mod write_attempts;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anyhow::{Context as _, Error, Result};
use tokio::runtime::Runtime;

use crate::command_line::CommandLine;

fn main() -> ExitCode {
    let command_line = CommandLine::read();
    match run(command_line) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed standard output before the end, as `head` does: it has what it wants.
        Err(error) if is_closed_output(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command_line: CommandLine) -> Result<()> {
    let runtime = Runtime::new().context("Cannot start the async runtime")?;
    runtime.block_on(command_line.run())
}

fn is_closed_output(error: &Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
